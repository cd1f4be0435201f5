import { command } from '../scripts/command-line/command.ts'
import { integer } from '../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:stores --',
  description:
    'Measures the cost per key of a store, a plain Map and the bare database binding. Prints the medians of several rounds in microseconds. Also prints the size, the accuracy and the costs of seen-sets.',
  positionals: { KEYS: integer('Number of keys.', { default: 200_000, min: 1 }) },
  examples: [['20000', 'Runs a short measurement.']],
})
