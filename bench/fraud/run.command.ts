import { command } from '../../scripts/command-line/command.ts'
import { choices, integer, text } from '../../scripts/command-line/option.ts'
import { PART_NAMES } from './part-names.ts'

export default command({
  call: 'npm run bench:fraud --',
  description:
    'Measures fraud scoring: how long 500 rules take on one transaction, here and in two other engines, which npm installs, without servers; and the blocklist on separate servers, that is, how soon other instances enforce a change, and the memory and start of a large list beside a Map.',
  options: {
    part: choices('Parts to measure.', PART_NAMES, { default: 'all' }),
    changes: integer('Changes of the blocklist.', { default: 200, min: 1 }),
    entries: integer('Entries of the large blocklist.', { default: 1_000_000, min: 1 }),
    note: text('Appends the results to bench/results.md under this note.'),
  },
  examples: [['--part blocklist --changes 20 --entries 100000', 'Runs a short measurement of the blocklist.']],
})
