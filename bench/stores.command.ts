import { command } from '../scripts/command-line/command.ts'
import { integer } from '../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:stores --',
  description:
    "Measures what a store costs per key, beside a plain Map and the database's bare binding: medians of several rounds, in microseconds.",
  positionals: { KEYS: integer('Number of keys.', { default: 200_000, min: 1 }) },
  examples: [['20000', 'A quick look.']],
})
