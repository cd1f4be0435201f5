import { command } from '../../../scripts/command-line/command.ts'
import { integer, text } from '../../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:catalog --',
  description:
    'Measures the page of a product (GET /api/v1/products/{id}) in one API process on separate servers, compared with Hono and a constant answer of the same size, in a closed loop with wrk on the same cores. Linux only, because CPU times come from /proc.',
  options: {
    seconds: integer('Duration of the measurement of each kind of request.', { default: 10, min: 1 }),
    connections: integer('Connections.', { default: 64, min: 1 }),
    products: integer('Products that are requested with equal probability.', { default: 10_000, min: 1 }),
    changes: integer('Stock changes per second, in the round that has such changes.', { default: 500, min: 1 }),
    prof: text('Writes a .cpuprofile of the API process into this folder.', { placeholder: 'FOLDER' }),
  },
})
