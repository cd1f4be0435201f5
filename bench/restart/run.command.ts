import { command } from '../../scripts/command-line/command.ts'
import { choice, choices, integer } from '../../scripts/command-line/option.ts'

const SCENARIOS = ['restore', 'in-place', 'kill', 'rolling', 'failover'] as const

export default command({
  call: 'npm run bench:restart --',
  description:
    'Measures how long state takes to come back, and how long partitions stand still when workers stop, die and return. Every stream is checked: a record that is lost, doubled or out of order ends the run. Linux only.',
  options: {
    only: choices('What is measured.', SCENARIOS, { default: 'all' }),
    keys: integer('Keys of the state.', { default: 1_000_000, min: 1 }),
    rate: integer('Records per second where there is load.', { default: 3_000, min: 1 }),
    runs: integer('Runs of each; medians are shown.', { default: 3, min: 1 }),
    peer: choice('Compares with it. A peer that is not there is left out.', ['kafka-streams']),
  },
  environment: {
    MILLRACE_DATA: 'Folder of the public data sets; job J2 reads payments. Default: ../shared/data.',
    PEERS_DIR: "Folder of the peers' programs. Default: ../shared/peers.",
    KAFKA_BROKERS: 'A given broker. Default: it starts its own.',
  },
  examples: [['--only kill,rolling --keys 100000', 'Two scenarios with small state.']],
})
