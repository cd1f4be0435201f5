import { command } from '../../scripts/command-line/command.ts'
import { integer, text } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:clicks --',
  description:
    'Measures the clicks pipeline (topology and sinks) in one real worker process, on separate servers, and verifies the number of clicks in ClickHouse after each backlog. Linux only, because CPU times and memory come from /proc.',
  options: {
    clicks: integer(
      "Clicks per backlog. There are three backlogs: clicks spread evenly over 100,000 links, clicks spread over them by Zipf's law, and clicks on a single link.",
      {
        default: 300_000,
        min: 1,
      },
    ),
    rate: integer('Background clicks per second while the freshness of new links is measured.', { default: 1_000, min: 1 }),
    seconds: integer('Duration of the freshness measurement.', { default: 30, min: 1 }),
    prof: text('Writes a .cpuprofile of the worker process into this folder.', { placeholder: 'FOLDER' }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  environment: { MILLRACE_DATA: 'Folder of the public data sets, which must contain the real user agents. Default: ../shared/data.' },
  examples: [['--clicks 30000 --seconds 10', 'Runs a short measurement.']],
})
