import { command } from '../scripts/command-line/command.ts'
import { integer } from '../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:tables --',
  description:
    'Compares a packed table with a Map that has the same entries: memory per entry, reading the topic, and lookups. Also measures the snapshot of the packed table. Needs no servers.',
  positionals: { ENTRIES: integer('Number of entries.', { default: 5_000_000, min: 1 }) },
  examples: [['1000000', 'Measures a million entries.']],
})
