/** Bokeh's script, and the figures that the report passes to its own script. */
declare const Bokeh: any;
declare const FIGURES: Record<string, any>;
