import { command } from '../../scripts/command-line/command.ts'
import { integer, text } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:trends-read --',
  description:
    'Measures the read side of the trends service on servers of its own: GET /v1/trends, closed loop, with wrk on the same cores. bench:trends measures the pipeline. Linux only: CPU times come from /proc.',
  options: {
    processes: integer('API processes.', { default: 1, min: 1 }),
    seconds: integer('How long each kind of request is measured.', { default: 10, min: 1 }),
    connections: integer('Connections to each process.', { default: 64, min: 1 }),
    prof: text('Writes a .cpuprofile of every API process into this folder.', { placeholder: 'FOLDER' }),
  },
})
