/** A Hono app with one route that returns an empty object. It shows the minimum cost of a feed. */
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono().get('/v1/feed', (context) => context.json({}))
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }: AddressInfo) =>
  process.stdout.write(`${JSON.stringify({ event: 'peer_started', url: `http://127.0.0.1:${port}` })}\n`),
)
process.once('SIGTERM', () => server.close(() => process.exit()))
