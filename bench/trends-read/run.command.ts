import { command } from '../../scripts/command-line/command.ts'
import { integer, text } from '../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:trends-read --',
  description:
    'Measures the read side of the trends service (GET /v1/trends) on separate servers, in a closed loop with wrk on the same cores. bench:trends measures the pipeline. Linux only, because CPU times come from /proc.',
  options: {
    processes: integer('Number of API processes.', { default: 1, min: 1 }),
    seconds: integer('Duration of the measurement of each kind of request.', { default: 10, min: 1 }),
    connections: integer('Connections per process.', { default: 64, min: 1 }),
    prof: text('Writes a .cpuprofile of every API process into this folder.', { placeholder: 'FOLDER' }),
  },
})
