import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { z } from 'zod'
import { settingsFragment, type ValueOf } from '../settings/fragment.ts'
import { addressOf, documented, flag, wholeNumber } from '../settings/variables.ts'
import { erasureTimes } from './erasure.ts'

const MS_PER_SECOND = 1_000

/** Accepts the location of a blob store. */
const location = z.string().trim().refine(isLocation, 'is neither a folder like file:///path nor a bucket like s3://bucket/prefix')

function isLocation(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  if (protocol === 's3:') return hostname !== ''
  // A path without a leading slash is refused: it looks relative, but the URL parser would make it absolute.
  return /^file:(\/(?!\/)|\/\/(localhost)?\/)/i.test(text) && isPath(text)
}

function isPath(url: string): boolean {
  try {
    fileURLToPath(url)
    return true
  } catch {
    return false
  }
}

export const stateSettings = settingsFragment({
  variables: {
    REDIS_URL: documented(
      addressOf('redis', 'rediss').prefault('redis://127.0.0.1:6379'),
      'address of Redis, with user and password if it needs them; if set, `npm start` uses it instead of starting a local one',
    ),
    REDIS_CLUSTER: documented(flag.prefault('0'), '1 if `REDIS_URL` names a node of a Redis Cluster'),
    CLICKHOUSE_URL: documented(
      addressOf('http', 'https').prefault('http://127.0.0.1:8123'),
      'address of ClickHouse; if set, `npm start` uses it instead of starting a local one',
    ),
    CLICKHOUSE_DATABASE: documented(z.string().prefault('default'), 'ClickHouse database that contains the tables'),
    CLICKHOUSE_USER: documented(z.string().prefault('default'), 'ClickHouse user'),
    CLICKHOUSE_PASSWORD: documented(z.string().prefault(''), 'password of `CLICKHOUSE_USER`'),
    CLICKHOUSE_CLUSTER: documented(z.string().optional(), 'name of the ClickHouse cluster; if set, tables are replicated', 'one server'),
    OPENSEARCH_URL: documented(
      addressOf('http', 'https').prefault('http://127.0.0.1:9200'),
      'address of OpenSearch, with user and password if it needs them; if set, `npm start` uses it instead of a local one',
    ),
    OPENSEARCH_SHARDS: documented(
      wholeNumber(1, 1_024).prefault('1'),
      'number of shards of a new search index; a new value takes effect at the next rebuild',
    ),
    OPENSEARCH_REPLICAS: documented(wholeNumber(0, 10).prefault('0'), 'number of additional copies of each shard of a new search index'),
    BLOBS_URL: documented(location.optional(), 'where large content is stored: a `file:` or `s3:` URL', '`data/blobs` in `MILLRACE_HOME`'),
    IMAGES_URL: documented(
      location.optional(),
      'where images are stored: a `file:` or `s3:` URL. `IMAGES_URL` and `BLOBS_URL` must not contain one another, because unreferenced content is removed from each of them',
      '`data/images` in `MILLRACE_HOME`',
    ),
    MODELS_URL: documented(
      location.optional(),
      'where trained models are stored: a `file:` or `s3:` URL. It must not contain `BLOBS_URL` or `IMAGES_URL`, or lie within one of them',
      '`data/models` in `MILLRACE_HOME`',
    ),
    BLOBS_ENDPOINT: documented(addressOf('http', 'https').optional(), 'address of a server that implements the S3 API', 'AWS'),
    ERASE_WITHIN_SECONDS: documented(
      wholeNumber(1).prefault('3600'),
      'time within which deleted data is erased from state, views, tables and blobs, if the service promises to erase it',
    ),
  },
  rules(env, report, { home }) {
    const blobs = env.BLOBS_URL ?? folderUrl(home, 'blobs')
    const images = env.IMAGES_URL ?? folderUrl(home, 'images')
    const models = env.MODELS_URL ?? folderUrl(home, 'models')
    const overlap = (one: string, other: string) => isWithin(one, other) || isWithin(other, one)
    if (overlap(blobs, images)) report('IMAGES_URL', 'is the same location as BLOBS_URL, or one of them contains the other')
    if (overlap(blobs, models)) report('MODELS_URL', 'is the same location as BLOBS_URL, or one of them contains the other')
    if (overlap(images, models)) report('MODELS_URL', 'is the same location as IMAGES_URL, or one of them contains the other')
  },
  value: (env, { home }) => ({
    redisUrl: env.REDIS_URL,
    /** True when `redisUrl` is the address of a node of a cluster. */
    redisCluster: env.REDIS_CLUSTER,
    clickhouse: {
      url: env.CLICKHOUSE_URL,
      database: env.CLICKHOUSE_DATABASE,
      username: env.CLICKHOUSE_USER,
      password: env.CLICKHOUSE_PASSWORD,
    },
    /** Name of the cluster in ClickHouse's configuration; undefined for a single server. */
    clickhouseCluster: env.CLICKHOUSE_CLUSTER,
    opensearchUrl: env.OPENSEARCH_URL,
    /** Layout of new indexes. */
    opensearchLayout: { shards: env.OPENSEARCH_SHARDS, replicas: env.OPENSEARCH_REPLICAS },
    blobs: {
      url: env.BLOBS_URL ?? folderUrl(home, 'blobs'),
      s3Endpoint: env.BLOBS_ENDPOINT,
      renewAfterMs: erasureTimes(env.ERASE_WITHIN_SECONDS * MS_PER_SECOND).renewAfterMs,
    },
    images: { url: env.IMAGES_URL ?? folderUrl(home, 'images'), s3Endpoint: env.BLOBS_ENDPOINT },
    /** Models are stored uncompressed, because compression hardly shrinks vectors. */
    models: { url: env.MODELS_URL ?? folderUrl(home, 'models'), s3Endpoint: env.BLOBS_ENDPOINT, compresses: false },
    /** Time within which deleted data is erased if a service promises to erase it. */
    eraseWithinMs: env.ERASE_WITHIN_SECONDS * MS_PER_SECOND,
  }),
})

function folderUrl(home: string, name: string): string {
  return pathToFileURL(join(home, 'data', name)).href
}

/** Returns whether a storage location equals another one or is inside it. */
function isWithin(inner: string, outer: string): boolean {
  const [a, b] = [inner, outer].map((url) => `${new URL(url).href.replace(/\/+$/, '')}/`)
  return a.startsWith(b)
}

/** How to reach the databases and blob stores, and how long deleted data may remain in them. */
export type StateSettings = ValueOf<typeof stateSettings>

export type ClickhouseSettings = StateSettings['clickhouse']
