from synmt.api.alignment import Aligner as Aligner
from synmt.api.alignment import WordLinks as WordLinks
from synmt.api.alignment import align as align
from synmt.api.parsing import parse as parse
from synmt.api.projection import project as project
from synmt.api.scoring import score as score
from synmt.api.training import train as train
from synmt.api.translation import Model as Model
from synmt.api.translation import translate as translate
from synmt.decoding.translation import Translation as Translation
from synmt.metrics.metric import Score as Score
from synmt.streams import BadInput as BadInput
from synmt.trees.record import ParseRecord as ParseRecord
from synmt.trees.record import read_record as read_record
from synmt.trees.record import write_record as write_record

__version__: str
