import { command } from '../scripts/command-line/command.ts'
import { number, text } from '../scripts/command-line/option.ts'

/**
 * Time to wait before the measurement, in seconds. The JIT compilers of the broker and of Node are busy for up to four
 * minutes after the start.
 */
const SETTLED_S = 270

export default command({
  call: 'npm run bench:idle --',
  description:
    'Starts everything that npm start starts, except the demonstration, in a separate folder. Waits until the processes have settled, and measures their CPU time and memory. Linux only.',
  options: {
    settle: number('Seconds to wait before the measurement.', { default: SETTLED_S }),
    seconds: number('Duration of the measurement in seconds.', { default: 120, min: 1 }),
    fixtures: text('Numbers of additional topologies and sinks, to simulate further services.', {
      default: '0x0',
      placeholder: 'TOPOLOGIESxSINKS',
    }),
  },
  examples: [['--fixtures 15x25', 'Measures with 15 more topologies and 25 more sinks.']],
  check: ({ fixtures }) =>
    /^\d+x\d+$/.test(fixtures) ? undefined : `--fixtures takes two numbers, such as 15x25 (15 topologies, 25 sinks), not ${fixtures}`,
})
