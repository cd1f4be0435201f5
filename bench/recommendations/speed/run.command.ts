import { command } from '../../../scripts/command-line/command.ts'
import { choices, flag, integer, text } from '../../../scripts/command-line/option.ts'
import { PART_NAMES } from './part-names.ts'

export default command({
  call: 'npm run bench:recommendations --',
  description:
    'Measures recommendations on generated items and users. Vectors: how many of the best ones a search finds, compared with an exact search. Lists: the time and CPU time per list, the latency at a fixed rate while events arrive (compared with reading a stored list from Redis), and the time from an event to the next list that reflects it. Processes: how fast one worker processes a backlog, how long an API process takes to become ready, and memory. Training: a training run, and the latency of lists during it. All parts except backlog and start train vectors, which needs Python. Linux only, because CPU times come from /proc.',
  options: {
    part: choices('Parts to measure.', PART_NAMES, { default: 'all' }),
    items: integer('Number of items, each with a vector of 256 numbers.', { default: 1_000_000, min: 1_000 }),
    users: integer('Number of users. On average, a user has had 12 interactions.', { default: 100_000, min: 100 }),
    questions: integer('Number of users whose nearest items are compared with those of the exact search.', { default: 200, min: 10 }),
    lists: integer('Lists per second.', { default: 100, min: 1 }),
    events: integer('Events per second while lists are measured.', { default: 1_000, min: 0 }),
    batch: integer('Events per request.', { default: 10, min: 1, max: 500 }),
    seconds: integer('Duration of one round at a fixed rate.', { default: 20, min: 1 }),
    rounds: integer('Rounds per contender; the medians and the spread are reported.', { default: 3, min: 1 }),
    backlog: integer('Number of interactions in the backlog.', { default: 300_000, min: 1_000 }),
    history: integer('Number of interactions to train on in the part training.', { default: 5_000_000, min: 1_000 }),
    folder: text('Keeps the generated items, the data of the servers and the vectors in this folder, and reuses existing files.', {
      placeholder: 'FOLDER',
    }),
    'no-peers': flag('Measures no peers.'),
    prof: text('Writes a .cpuprofile of the API and of each worker into this folder.', { placeholder: 'FOLDER' }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  examples: [['--items 20000 --users 2000 --seconds 3 --rounds 1 --backlog 20000 --history 20000', 'Runs a short measurement.']],
})
