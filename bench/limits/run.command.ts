import { command } from '../../scripts/command-line/command.ts'
import { choices, integers, number, text } from '../../scripts/command-line/option.ts'

const SECTIONS = ['speed', 'latency', 'rate', 'accuracy', 'leases', 'changes', 'faults', 'rules'] as const

export default command({
  call: 'npm run bench:limits --',
  description:
    'Measures decisions per second, the latency that they add, and how exact they are, on a Redis of its own, beside peers in the same run: rate-limiter-flexible, and envoyproxy/ratelimit where there is a Go to build it with. Linux only.',
  options: {
    seconds: number('How long each load lasts.', { default: 4, min: 1 }),
    only: choices('What is measured.', SECTIONS, { default: 'all' }),
    traffic: text('Only the kinds of traffic whose name has this, such as hot.'),
    processes: integers('Numbers of processes that share a limit.', { default: '1,2,4', min: 1 }),
  },
  examples: [['--only speed,latency --traffic hot', 'Two tables, ten hot callers.']],
})
