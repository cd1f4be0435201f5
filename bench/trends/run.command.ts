import { command } from '../../scripts/command-line/command.ts'
import { choice, integer, integers, number, text } from '../../scripts/command-line/option.ts'

/**
 * Maximum age of the first tweet in minutes. Up to this age, all tweets are in one window despite the delays in the
 * stream, so a plain count is enough to apply the limit per user.
 */
const MAX_BACKLOG_MINUTES = 45

export default command({
  call: 'npm run bench:trends --',
  description:
    'Measures the trends pipeline (topology and sinks) in real worker processes, on its own servers, and verifies the sum of all counts in ClickHouse. bench:trends-read measures the read side. Linux only, because CPU times and memory come from /proc.',
  options: {
    events: integer('Number of tweets in the measured backlog.', { default: 300_000, min: 1 }),
    stream: choice(
      'Source of the tweets: the demo stream, or repetitions of the recorded tweets (generated tweets if MILLRACE_DATA lacks the recording).',
      ['demo', 'recorded'],
      { default: 'demo' },
    ),
    warmup: integer('Number of tweets that are processed before the measurement, to fill the lists and warm up the JIT compiler.', {
      default: 0,
      min: 0,
    }),
    hot: number('Share of the tweets that get the same additional term.', { default: 0, max: 1 }),
    terms: integer('Number of partitions of each topic that is keyed by term.', { default: 4, min: 1 }),
    minutes: number('Age of the first tweet in minutes.', { default: 30, max: MAX_BACKLOG_MINUTES }),
    workers: integers('Numbers of worker processes; the backlog is measured with each of them. 0 skips this measurement.', {
      default: '1,2',
    }),
    runs: integer('Runs per number of workers; the medians are reported.', { default: 3, min: 1 }),
    rate: number('Tweets per second during --steady and the measurement of freshness with full lists (551 regions of 500 terms).', {
      default: 200,
      min: 1,
    }),
    seconds: number('Measurement time for freshness; 0 skips all measurements with full lists.', { default: 150 }),
    steady: integer('Number of seconds for which an empty worker receives recorded tweets at --rate; 0 skips this measurement.', {
      default: 0,
      min: 0,
    }),
    compared: integer('Number of lists (the world and random regions) that are compared with an offline count after --steady.', {
      default: 10,
      min: 1,
    }),
    live: integer('Number of terms in the window of a worker that is restarted and killed; 0 skips this measurement.', {
      default: 0,
      min: 0,
    }),
    baselines: integer('Number of baselines in the worker that --live restarts.', { default: 0, min: 0 }),
    renewals: integer('Number of measured renewals of full lists. Should be even, because every second renewal also writes a snapshot.', {
      default: 2,
      min: 2,
    }),
    prof: text('Writes a .cpuprofile of every worker process into this folder.', { placeholder: 'FOLDER' }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  examples: [['--workers 1 --runs 1 --seconds 0', 'Processes one backlog only.']],
})
