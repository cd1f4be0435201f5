import { command } from '../../scripts/command-line/command.ts'
import { choice, integer, text } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:trends-read --',
  description:
    'Measures the read side of the trends service on its own servers: lists (GET /v1/trends) in a closed loop with wrk on the same cores, or histories of a term that occurs in every region in every minute of 89 days. bench:trends measures the pipeline. Linux only, because CPU times come from /proc.',
  options: {
    part: choice('Which reads to measure. The other options apply only to lists.', ['lists', 'history'], { default: 'lists' }),
    processes: integer('Number of API processes.', { default: 1, min: 1 }),
    seconds: integer('Measurement time for each kind of request.', { default: 10, min: 1 }),
    connections: integer('Connections to each API process.', { default: 64, min: 1 }),
    prof: text('Writes a .cpuprofile of every API process into this folder.', { placeholder: 'FOLDER' }),
  },
})
