import { command } from '../../scripts/command-line/command.ts'
import { choice, choices, integer } from '../../scripts/command-line/option.ts'
import { CHANGES } from './changes.ts'
import { SHORTEST_VALUE_BYTES, VALUE_BYTES } from './value-size.ts'

const SCENARIOS = ['restore', 'in-place', 'kill', 'rolling', 'failover', 'scale', 'scale-job'] as const

export default command({
  call: 'npm run bench:restart --',
  description:
    'Measures how long restoring state takes, and how long partitions stall when workers stop, crash and restart. Every stream is verified: a lost or duplicated record ends the run with an error, and so does a record out of order, except in job J2. Linux only.',
  options: {
    only: choices('Scenarios to run; scale-job requires a peer.', SCENARIOS, { default: 'all' }),
    changes: choices('Membership changes in the scenario "scale"; "return" requires "stop".', CHANGES, { default: 'all' }),
    keys: integer(
      'Number of keys in the state, or of payments that create the state of job J2. Some scenarios use a fraction or a multiple of this number.',
      {
        default: 1_000_000,
        min: 1,
      },
    ),
    'value-bytes': integer('Size of a value in the scenario "scale", in bytes.', { default: VALUE_BYTES, min: SHORTEST_VALUE_BYTES }),
    rate: integer('Records per second in scenarios under load.', { default: 3_000, min: 1 }),
    runs: integer('Runs of the scenarios "restore" and "in-place"; the medians are reported.', { default: 3, min: 1 }),
    peer: choice('Peer to compare with. Missing peers are skipped.', ['kafka-streams']),
  },
  environment: {
    MILLRACE_DATA: 'Folder of the public data sets; job J2 reads payments. Default: ../shared/data.',
    PEERS_DIR: "Folder of the peers' programs. Default: ../shared/peers.",
    KAFKA_BROKERS: 'An external broker. Default: the benchmark starts one.',
  },
  examples: [
    ['--only kill,rolling --keys 100000', 'Runs two scenarios with small state.'],
    ['--only scale --changes kill --keys 6000000 --value-bytes 1700', 'Kills one of two workers that have 10 GB of state.'],
  ],
  check: ({ changes }) =>
    changes.includes('return') && !changes.includes('stop') ? 'the change "return" needs the change "stop"' : undefined,
})
