import { COMPRESSIONS } from '../../kafka/transport.ts'
import { command } from '../../scripts/command-line/command.ts'
import { choice, integer } from '../../scripts/command-line/option.ts'
import { GUARANTEES, JOB_NAMES, MAX_STATE_PADDING, PEER_JOINS, PEER_NAMES, PEER_STATES } from './names.ts'

export default command({
  call: 'npm run bench:engine --',
  description:
    'Measures the engine and a peer alternately, on one broker and one input, and verifies every output. J1 counts terms in windows, J2 computes features of card payments, J3 finds matches. Linux only, because CPU times and memory come from /proc.',
  options: {
    job: choice('Job to measure.', JOB_NAMES, { default: 'J2' }),
    peer: choice('Peer to compare with. Missing peers are skipped. "limit" is a loop without an engine, for jobs J1 and J2.', PEER_NAMES),
    variant: choice('Settings of the peer: its defaults, or the tuning that is usual among its users.', ['default', 'tuned'], {
      default: 'default',
    }),
    'peer-state': choice('Where Flink keeps its state: in RocksDB or on the heap.', PEER_STATES, { default: 'rocksdb' }),
    'peer-join': choice('How Kafka Streams joins in J3: with its DSL, or with the algorithm of the engine.', PEER_JOINS, {
      default: 'dsl',
    }),
    guarantee: choice('Processing guarantee.', GUARANTEES, { default: 'exactly-once' }),
    workers: integer('Number of engine processes.', { default: 1, min: 1 }),
    'peer-workers': integer('Number of threads or processes of the peer. Default: the value of --workers.', { min: 1 }),
    records: integer('Number of input records.', { default: 1_000_000, min: 1 }),
    runs: integer('Runs per contender; the medians are reported.', { default: 3, min: 1 }),
    'commit-ms': integer('Time between two commits in milliseconds.', { default: 100, min: 1 }),
    compression: choice('Compression of the records that the engine writes.', COMPRESSIONS, { default: 'none' }),
    cards: integer(
      'Number of cards in job J2. The first payment of each card creates its state; all other payments go to random cards. Default: the cards of the data set.',
      { min: 1 },
    ),
    'state-padding': integer(
      'Number of random bytes that job J2 adds to the state of each card. The peer must also add these bytes. It reads their number from the variable STATE_PADDING.',
      { default: 0, min: 0, max: MAX_STATE_PADDING },
    ),
    memory: integer('Memory limit of each contender in MiB, including its page cache. Requires root. Default: no limit.', { min: 1 }),
    latency: integer(
      'Measures latency instead of throughput: the time from when a record is due to be sent until a reader receives its output. Runs job J2 at this many records per second.',
      {
        min: 1,
      },
    ),
  },
  environment: {
    MILLRACE_DATA: 'Folder of the public data sets. J1 reads tweets, and J2 reads payments. Default: ../shared/data.',
    PEERS_DIR: "Folder of the peers' programs, each with a run.sh. Default: ../shared/peers.",
    KAFKA_BROKERS: 'An external broker. Default: the benchmark starts one.',
    BENCH_NODE_ARGUMENTS: 'Node arguments for workers, such as --cpu-prof.',
  },
  examples: [
    ['--peer kafka-streams', 'Compares the engine with Kafka Streams on J2.'],
    ['--latency 5000', 'Measures the latency at 5,000 records per second.'],
    ['--records 2400000 --cards 1950000 --state-padding 4096 --memory 768 --runs 1', 'Measures J2 with ten times as much state as memory.'],
  ],
  check: ({ latency, job, cards, 'state-padding': padding }) => {
    if (job === 'J2') return undefined
    if (latency !== undefined) return '--latency requires job J2, in which every input has one output: omit --job'
    if (cards !== undefined || padding > 0) return '--cards and --state-padding require job J2: omit --job'
    return undefined
  },
})
