import { command } from '../../scripts/command-line/command.ts'

export default command({
  call: 'npm run bench:fraud --',
  description: 'Measures how long 500 rules take on one transaction. Needs no servers.',
})
