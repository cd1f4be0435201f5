import { command } from './command-line/command.ts'

export default command({
  call: 'npm run schemas --',
  description:
    'Writes schemas/<folder>/types.ts, the TypeScript types of every record, from the Avro schemas of each folder. Also updates the table of settings in README.md.',
})
