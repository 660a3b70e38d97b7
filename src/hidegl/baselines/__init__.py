"""The methods that the paper compares with, as estimators: one file per method, and a shared base."""

from hidegl.baselines.agr import AGR
from hidegl.baselines.knn import KNN
from hidegl.baselines.laprls import LapRLS
from hidegl.baselines.lgc import LGC
from hidegl.baselines.mp import MeasurePropagation
from hidegl.baselines.neighbours import knn_graph
from hidegl.baselines.sgt import SGT
from hidegl.baselines.sqloss import SQLoss
from hidegl.baselines.tvrf import TVRF

__all__ = ["AGR", "KNN", "LGC", "SGT", "TVRF", "LapRLS", "MeasurePropagation", "SQLoss", "knn_graph"]
