import type { Cluster, Redis } from 'ioredis'
import type { BinaryReader, ListReader, ScoredMember, ScoreReader, ViewReader } from './view.ts'

/** @param ask awaits each answer, for instance to convert errors */
export function viewReader(
  client: Redis | Cluster,
  ask: <T>(answer: Promise<T>) => Promise<T> = (answer) => answer,
): ViewReader & ListReader & ScoreReader & BinaryReader {
  // Redis and Cluster share these commands, but their overloads cannot be called through the union type.
  const redis = client as Redis
  return {
    get: (key) => ask(redis.get(key)),
    hget: (key, field) => ask(redis.hget(key, field)),
    hmget: (key, fields) => ask(redis.hmget(key, ...fields)),
    mget: (keys) => ask(redis.mget(...keys)),
    zcard: (key) => ask(redis.zcard(key)),
    zrevrange: (key, start, stop) => ask(redis.zrevrange(key, start, stop)),
    zrevrangeWithScores: async (key, start, stop) => scored(await ask(redis.zrevrange(key, start, stop, 'WITHSCORES'))),
    zmscore: async (key, members) => (await ask(redis.zmscore(key, ...members))).map((score) => (score === null ? null : Number(score))),
    zrange: (key, start, stop) => ask(redis.zrange(key, String(start), String(stop))),
    zrangebylex: (key, min, max, offset, count) => ask(redis.zrangebylex(key, min, max, 'LIMIT', offset, count)),
    hgetall: (key) => ask(redis.hgetall(key)),
    mgetBuffer: (keys) => ask(redis.mgetBuffer(...keys)),
    hmgetBuffer: (key, fields) => ask(redis.hmgetBuffer(key, ...fields)),
    hgetallBuffer: (key) => ask(redis.hgetallBuffer(key)),
  }
}

/** Pairs the members and scores, which alternate in Redis' answer. */
function scored(answer: readonly string[]): ScoredMember[] {
  return Array.from({ length: answer.length / 2 }, (_, index) => ({ member: answer[2 * index], score: Number(answer[2 * index + 1]) }))
}
