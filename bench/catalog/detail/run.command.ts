import { command } from '../../../scripts/command-line/command.ts'
import { integer, text } from '../../../scripts/command-line/option.ts'

export default command({
  call: 'npm run bench:catalog --',
  description:
    'Measures the product page (GET /api/v1/products/{id}) of one API process on separate servers. Compares it with a Hono server that returns a constant response of the same size. wrk applies the load in a closed loop, on the same cores. Linux only, because CPU times come from /proc.',
  options: {
    seconds: integer('Measurement time for each kind of request.', { default: 10, min: 1 }),
    connections: integer('Number of connections.', { default: 64, min: 1 }),
    products: integer('Number of products. The load generator cycles through them.', { default: 10_000, min: 1 }),
    changes: integer('Stock changes per second, in the round that measures pages while stock changes.', { default: 500, min: 1 }),
    prof: text('Writes a .cpuprofile of the API process into this folder.', { placeholder: 'FOLDER' }),
  },
})
