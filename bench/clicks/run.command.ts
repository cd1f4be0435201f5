import { command } from '../../scripts/command-line/command.ts'
import { integer, text } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:clicks --',
  description:
    'Measures the clicks pipeline (topology and sinks) in one real worker process, on servers of its own; every count is verified in ClickHouse. Linux only: times and memory come from /proc.',
  options: {
    clicks: integer("Clicks of each backlog: spread evenly over 100,000 links, by Zipf's law, and all on one.", {
      default: 300_000,
      min: 1,
    }),
    rate: integer('Clicks per second beside the links whose first click is waited for.', { default: 1_000, min: 1 }),
    seconds: integer('How long that lasts.', { default: 30, min: 1 }),
    prof: text('Writes a .cpuprofile of the worker process into this folder.', { placeholder: 'FOLDER' }),
    note: text('Appends the figures to bench/results.md under this note.'),
  },
  environment: { MILLRACE_DATA: 'Folder of the public data sets; real user agents are needed. Default: ../shared/data.' },
  examples: [['--clicks 30000 --seconds 10', 'A quick look.']],
})
