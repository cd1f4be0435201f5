import { command } from '../../scripts/command-line/command.ts'
import { integer, integers, number, text } from '../../scripts/command-line/option.ts'

/** The stream's own delays included, every two tweets share a window: the cap is a plain count then. */
const MAX_BACKLOG_MINUTES = 45

export default command({
  call: 'npm run bench:trends --',
  description:
    'Measures the trends pipeline (topology and sinks) in real worker processes, on servers of its own; every count is verified in ClickHouse. bench:trends-read measures the read side. Linux only: times and memory come from /proc.',
  options: {
    events: integer("Tweets of the demonstration's stream that are worked off.", { default: 300_000, min: 1 }),
    minutes: number('How long ago the first of them was sent.', { default: 30, max: MAX_BACKLOG_MINUTES }),
    workers: integers('Numbers of worker processes; with 0, no backlog is worked off.', { default: '1,2' }),
    runs: integer('Runs of each; medians are shown.', { default: 3, min: 1 }),
    rate: number(
      'Tweets per second beside full lists (551 regions of 500 terms), while it is measured how soon a new term shows in the API.',
      { default: 200, min: 1 },
    ),
    seconds: number('How long that lasts; 0 leaves it out.', { default: 150 }),
    prof: text('Writes a .cpuprofile of every worker process into this folder.', { placeholder: 'FOLDER' }),
    note: text('Appends the medians to bench/results.md under this note.'),
  },
  examples: [['--workers 1 --runs 1 --seconds 0', 'One backlog only.']],
})
