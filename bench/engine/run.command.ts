import { COMPRESSIONS } from '../../kafka/transport.ts'
import { command } from '../../scripts/command-line/command.ts'
import { choice, integer } from '../../scripts/command-line/option.ts'
import { GUARANTEES, JOB_NAMES, PEER_NAMES } from './names.ts'

export default command({
  call: 'npm run bench:engine --',
  description:
    'Measures the engine, and a peer in turn, on one broker and one input, and verifies every output. J1 counts terms in windows, J2 computes features of card payments, J3 finds matches. Linux only: times and memory come from /proc.',
  options: {
    job: choice('Which job.', JOB_NAMES, { default: 'J2' }),
    peer: choice('Compares with it. A peer that is not there is left out.', PEER_NAMES),
    variant: choice('Settings of the peer: its defaults, or what its users turn.', ['default', 'tuned'], { default: 'default' }),
    guarantee: choice('What a crash may do to the output.', GUARANTEES, { default: 'exactly-once' }),
    workers: integer('Processes of the engine.', { default: 1, min: 1 }),
    'peer-workers': integer('Threads or processes of the peer. By default as many as --workers.', { min: 1 }),
    records: integer('Records of the input.', { default: 1_000_000, min: 1 }),
    runs: integer('Runs of each; medians are shown.', { default: 3, min: 1 }),
    'commit-ms': integer('Time between two commits in milliseconds.', { default: 100, min: 1 }),
    compression: choice('Of the records that the engine writes.', COMPRESSIONS, { default: 'none' }),
    latency: integer('Measures instead, with job J2, the time from a record to its visible result at this many records per second.', {
      min: 1,
    }),
  },
  environment: {
    MILLRACE_DATA: 'Folder of the public data sets; J1 and J2 read tweets and payments. Default: ../shared/data.',
    PEERS_DIR: "Folder of the peers' programs, a run.sh each. Default: ../shared/peers.",
    KAFKA_BROKERS: 'A given broker. Default: it starts its own.',
    BENCH_NODE_ARGUMENTS: "Arguments for the workers' node, such as --cpu-prof.",
  },
  examples: [
    ['--peer kafka-streams', 'J2 beside Kafka Streams.'],
    ['--latency 5000', 'Latency at 5,000 records per second.'],
  ],
  check: ({ latency, job }) =>
    latency !== undefined && job !== 'J2'
      ? '--latency is measured with job J2, whose every input has one output: leave out --job'
      : undefined,
})
