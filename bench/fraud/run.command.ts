import { command } from '../../scripts/command-line/command.ts'
import { choices, integer, text } from '../../scripts/command-line/option.ts'
import { PART_NAMES } from './part-names.ts'

export default command({
  call: 'npm run bench:fraud --',
  description:
    'Measures the parts of fraud scoring. Rules, without servers: how long 500 rules take for one transaction, in this engine and in two peers that npm installs. Blocklist, on separate servers: how soon other instances enforce a change, and the memory and startup time of a large list compared with a Map. Models: the three models in their process, without servers. Profiles: how fast their topology processes a backlog, compared with Kafka Streams on J2, and how soon a profile is in Redis. Scores: how fast one API with its workers scores payments that are spread evenly, come from one IP address, or go to one merchant. Linux only, because CPU times come from /proc.',
  options: {
    part: choices('Parts to measure.', PART_NAMES, { default: 'all' }),
    changes: integer('Number of entities that are blocked and then unblocked.', { default: 200, min: 1 }),
    entries: integer('Number of entries in the large blocklist, and in the blocklist that is used for scoring payments.', {
      default: 1_000_000,
      min: 1,
    }),
    users: integer('Number of users. With --part score, each user has one week of payment history.', { default: 100_000, min: 100 }),
    scores: integer('Scores per second. With --part score, the rate is then raised until the P99 exceeds 100 ms or a request fails.', {
      default: 1_000,
      min: 10,
    }),
    seconds: integer('Duration of one scoring round.', { default: 15, min: 1 }),
    records: integer('Number of transactions in the backlog for profiles.', { default: 200_000, min: 1_000 }),
    rounds: integer('Rounds of each profile and score measurement; the table has medians.', { default: 3, min: 1 }),
    prof: text('Writes a .cpuprofile of the scoring API, its workers and the topology of profiles into this folder.', {
      placeholder: 'FOLDER',
    }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  examples: [['--part blocklist --changes 20 --entries 100000', 'Runs a short measurement of the blocklist.']],
})
