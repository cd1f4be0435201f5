import { command } from '../scripts/command-line/command.ts'
import { number, text } from '../scripts/command-line/option.ts'

/**
 * Time before the measurement. The compilers of the broker and of Node are busy for up to four minutes after a start.
 */
const SETTLED_S = 270

export default command({
  call: 'npm run bench:idle --',
  description:
    'Starts everything like npm start in a separate folder, without the demonstration, waits until it has settled, and measures its CPU and memory. Linux only.',
  options: {
    settle: number('Seconds before the measurement.', { default: SETTLED_S }),
    seconds: number('Seconds of the measurement.', { default: 120, min: 1 }),
    fixtures: text('Additional topologies and sinks, as further services would add them.', {
      default: '0x0',
      placeholder: 'TOPOLOGIESxSINKS',
    }),
  },
  examples: [['--fixtures 15x25', 'Measures with 15 more topologies and 25 more sinks.']],
  check: ({ fixtures }) =>
    /^\d+x\d+$/.test(fixtures) ? undefined : `--fixtures takes two numbers, such as 15x25 (15 topologies, 25 sinks), not ${fixtures}`,
})
