/** Bokeh's script, and the figures that the report passes to its own script. */
declare const Bokeh: any;
declare const FIGURES: Record<string, any>;
/** The functions of map_names.js, which the report contains before its own script. */
declare const namePlaces: typeof import("../../src/hidegl/showing/map_names.js").namePlaces;
declare const writeNames: typeof import("../../src/hidegl/showing/map_names.js").writeNames;
