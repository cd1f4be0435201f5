import { command } from '../../scripts/command-line/command.ts'
import { choices, integers, number, text } from '../../scripts/command-line/option.ts'

const SECTIONS = ['speed', 'latency', 'rate', 'accuracy', 'leases', 'changes', 'faults', 'rules'] as const

export default command({
  call: 'npm run bench:limits --',
  description:
    'Measures decisions per second, their added latency and their accuracy on a separate Redis. Compares the results with those of peers in the same run: rate-limiter-flexible, and envoyproxy/ratelimit if Go is installed to build it. Linux only.',
  options: {
    seconds: number('Duration of each load for speed and latency. Loads of the section rate last half as long.', { default: 4, min: 1 }),
    only: choices('Measurements to run.', SECTIONS, { default: 'all' }),
    traffic: text('Measures only kinds of traffic whose name contains this text, such as hot.'),
    processes: integers('Numbers of processes that share a limit.', { default: '1,2,4', min: 1 }),
  },
  examples: [['--only speed,latency --traffic hot', 'Prints two tables for ten hot callers.']],
})
