import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { BlobSettings } from '../state/blobs/connect.ts'
import { isAddressRange, LOOPBACK } from './kit/client-address.ts'

/** What the API needs to know; every setting has the environment variable's name in its message. */
export interface ApiConfig {
  readonly host: string
  readonly port: number
  readonly services: readonly ServiceName[]
  readonly publicUrl: string
  readonly logLevel: LogLevel
  readonly drainDelayMs: number
  readonly drainTimeoutMs: number
  readonly brokers: readonly string[]
  readonly schemaRegistryUrl: string
  readonly redisUrl: string
  readonly redisCluster: boolean
  readonly clickhouse: ClickhouseConfig
  /** Proxies that are believed in X-Forwarded-For: addresses and CIDR ranges. */
  readonly trustedProxies: readonly string[]
  readonly auth: AuthConfig
  readonly links: LinksConfig
  /** Where the contents of snippets lie. */
  readonly blobs: BlobSettings
}

export interface LinksConfig {
  /** The header in which trusted proxies say which country a visitor is in, in lower case; undefined: none does. */
  readonly countryHeader: string | undefined
  /** Where the short domains are served besides the API's own port; 0: any free one. */
  readonly shortPort: number
  /** What short links begin with, the first one where nobody chooses: `https://sho.rt`. */
  readonly domains: readonly string[]
  /** What short codes are derived with: whoever knows it can tell them in advance. */
  readonly secret: { readonly kind: 'given'; readonly value: string } | { readonly kind: 'development'; readonly home: string }
}

export interface ClickhouseConfig {
  readonly url: string
  readonly database: string
  readonly username: string
  readonly password: string
}

export interface AuthConfig {
  readonly issuer: string
  readonly audience: string
  /** Where the identity provider's keys are; `development`: a key made here on first start. */
  readonly keys:
    | { readonly kind: 'url'; readonly url: string }
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'development'; readonly home: string }
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The services that `API_SERVICES` may name. */
const SERVICE_NAMES = ['trends', 'links', 'snippets', 'limits'] as const
export type ServiceName = (typeof SERVICE_NAMES)[number]

const MAX_PORT = 65_535
/** 128 bits as text, at least. */
const MIN_SECRET_CHARACTERS = 22
const DEVELOPMENT_ISSUER = 'millrace'

const list = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
/** A host, or the whole beginning of short links where that is not http. */
function shortDomain(text: string, context: z.core.$RefinementCtx<string>): string {
  const base = /^https?:\/\//i.test(text) ? text : `http://${text}`
  const url = URL.canParse(base) ? new URL(base) : undefined
  if (url !== undefined && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '') return url.origin
  context.addIssue({ code: 'custom', message: `${text} is no host and no address like https://sho.rt` })
  return z.NEVER
}

const milliseconds = (fallback: number) => z.coerce.number().int().min(0).default(fallback)

const Environment = z
  .object({
    API_HOST: z.string().default('127.0.0.1'),
    API_PORT: z.coerce.number().int().min(0).max(MAX_PORT).default(8080),
    API_SERVICES: z
      .string()
      .default(SERVICE_NAMES.join(','))
      .transform(list)
      .pipe(z.array(z.enum(SERVICE_NAMES)).min(1)),
    API_DRAIN_DELAY_MS: milliseconds(0),
    API_DRAIN_TIMEOUT_MS: milliseconds(10_000),
    PUBLIC_URL: z.url().default('http://localhost:8080'),
    LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
    KAFKA_BROKERS: z.string().default('127.0.0.1:9092').transform(list).pipe(z.array(z.string()).min(1)),
    SCHEMA_REGISTRY_URL: z.url().default('http://127.0.0.1:8081'),
    REDIS_URL: z
      .string()
      .regex(/^rediss?:\/\//, 'must start with redis:// or rediss://')
      .default('redis://127.0.0.1:6379'),
    REDIS_CLUSTER: z
      .enum(['0', '1'])
      .default('0')
      .transform((text) => text === '1'),
    BLOBS_URL: z.url({ protocol: /^(file|s3)$/ }).optional(),
    BLOBS_ENDPOINT: z.url().optional(),
    CLICKHOUSE_URL: z.url().default('http://127.0.0.1:8123'),
    CLICKHOUSE_DATABASE: z.string().default('default'),
    CLICKHOUSE_USER: z.string().default('default'),
    CLICKHOUSE_PASSWORD: z.string().default(''),
    TRUSTED_PROXIES: z
      .string()
      .default(LOOPBACK.join(','))
      .transform(list)
      .pipe(z.array(z.string().refine(isAddressRange, 'must be addresses or CIDR ranges'))),
    AUTH_ISSUER: z.string().min(1).optional(),
    AUTH_AUDIENCE: z.string().min(1).optional(),
    AUTH_JWKS_URL: z.url().optional(),
    AUTH_JWKS_FILE: z.string().min(1).optional(),
    SHORT_PORT: z.coerce.number().int().min(0).max(MAX_PORT).default(8090),
    SHORT_DOMAINS: z
      .string()
      .default('localhost:8090')
      .transform(list)
      .pipe(z.array(z.string().transform(shortDomain)).min(1)),
    CLICKS_COUNTRY_HEADER: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
      .toLowerCase()
      .optional(),
    LINKS_SECRET: z.string().min(MIN_SECRET_CHARACTERS, 'is too short: give at least 22 random characters').optional(),
    MILLRACE_HOME: z.string().default(join(import.meta.dirname, '..', '.millrace')),
    NODE_ENV: z.string().default('development'),
  })
  .superRefine((env, context) => {
    const hasKeys = env.AUTH_JWKS_URL !== undefined || env.AUTH_JWKS_FILE !== undefined
    if (env.AUTH_JWKS_URL !== undefined && env.AUTH_JWKS_FILE !== undefined) {
      context.addIssue({ code: 'custom', path: ['AUTH_JWKS_FILE'], message: 'is set beside AUTH_JWKS_URL: set one of them' })
    }
    if (env.NODE_ENV === 'production' && !hasKeys) {
      context.addIssue({
        code: 'custom',
        path: ['AUTH_JWKS_URL'],
        message: 'is missing: with NODE_ENV=production there is no development key; set it or AUTH_JWKS_FILE',
      })
    }
    if (env.NODE_ENV === 'production' && env.API_SERVICES.includes('links') && env.LINKS_SECRET === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['LINKS_SECRET'],
        message: 'is missing: with NODE_ENV=production no secret is made here; set the same random text for all API instances',
      })
    }
    for (const name of ['AUTH_ISSUER', 'AUTH_AUDIENCE'] as const) {
      if (hasKeys && env[name] === undefined) {
        context.addIssue({
          code: 'custom',
          path: [name],
          message: 'is missing: keys of your own need the issuer and audience that their tokens carry',
        })
      }
    }
  })

type Settings = z.output<typeof Environment>
type Env = Readonly<Record<string, string | undefined>>

/** Throws one error that names every wrong setting with its cure. An empty variable counts as unset. */
export function readApiConfig(env: Env = process.env): ApiConfig {
  const settings = parse(env)
  return {
    host: settings.API_HOST,
    port: settings.API_PORT,
    services: settings.API_SERVICES,
    publicUrl: settings.PUBLIC_URL,
    logLevel: settings.LOG_LEVEL,
    drainDelayMs: settings.API_DRAIN_DELAY_MS,
    drainTimeoutMs: settings.API_DRAIN_TIMEOUT_MS,
    brokers: settings.KAFKA_BROKERS,
    schemaRegistryUrl: settings.SCHEMA_REGISTRY_URL,
    redisUrl: settings.REDIS_URL,
    redisCluster: settings.REDIS_CLUSTER,
    clickhouse: {
      url: settings.CLICKHOUSE_URL,
      database: settings.CLICKHOUSE_DATABASE,
      username: settings.CLICKHOUSE_USER,
      password: settings.CLICKHOUSE_PASSWORD,
    },
    trustedProxies: settings.TRUSTED_PROXIES,
    auth: authOf(settings),
    blobs: {
      url: settings.BLOBS_URL ?? pathToFileURL(join(settings.MILLRACE_HOME, 'data', 'blobs')).href,
      s3Endpoint: settings.BLOBS_ENDPOINT,
    },
    links: {
      countryHeader: settings.CLICKS_COUNTRY_HEADER,
      shortPort: settings.SHORT_PORT,
      domains: settings.SHORT_DOMAINS,
      secret:
        settings.LINKS_SECRET === undefined
          ? { kind: 'development', home: settings.MILLRACE_HOME }
          : { kind: 'given', value: settings.LINKS_SECRET },
    },
  }
}

/** What the token command needs. Refused in production: there is no development key there. */
export function readDevelopmentAuth(env: Env = process.env): { issuer: string; audience: string; home: string } {
  const settings = parse({ ...env, AUTH_JWKS_URL: undefined, AUTH_JWKS_FILE: undefined, NODE_ENV: 'development' })
  if (env.NODE_ENV === 'production') throw new Error('NODE_ENV is production: development tokens are neither made nor accepted there')
  const { issuer, audience } = authOf(settings)
  return { issuer, audience, home: settings.MILLRACE_HOME }
}

function parse(env: Env): Settings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const result = Environment.safeParse(given)
  if (result.success) return result.data
  throw new Error(`wrong settings:\n${result.error.issues.map((issue) => `  ${String(issue.path[0])}: ${issue.message}`).join('\n')}`)
}

function authOf(settings: Settings): AuthConfig {
  const { AUTH_ISSUER, AUTH_AUDIENCE, AUTH_JWKS_URL, AUTH_JWKS_FILE, MILLRACE_HOME } = settings
  const common = { issuer: AUTH_ISSUER ?? DEVELOPMENT_ISSUER, audience: AUTH_AUDIENCE ?? DEVELOPMENT_ISSUER }
  if (AUTH_JWKS_URL !== undefined) return { ...common, keys: { kind: 'url', url: AUTH_JWKS_URL } }
  if (AUTH_JWKS_FILE !== undefined) return { ...common, keys: { kind: 'file', path: AUTH_JWKS_FILE } }
  return { ...common, keys: { kind: 'development', home: MILLRACE_HOME } }
}
