/**
 * A Hono app that returns a stored list from Redis unchanged. It shows the minimum cost of a list. Argument: the URL of
 * Redis.
 */
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Redis } from 'ioredis'

const redis = new Redis(process.argv[2])
const app = new Hono().get('/list/:user', async (context) => {
  const list = await redis.get(`bench-list:${context.req.param('user')}`)
  return list === null ? context.notFound() : context.body(list, 200, { 'content-type': 'application/json' })
})
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }: AddressInfo) =>
  process.stdout.write(`${JSON.stringify({ event: 'peer_started', url: `http://127.0.0.1:${port}` })}\n`),
)
process.once('SIGTERM', () => server.close(() => process.exit()))
