import { join } from 'node:path'
import { z } from 'zod'
import { settingsFragment } from '../../settings/fragment.ts'
import { addressOf, documented, logLevel, port, timerMs, wholeNumber } from '../../settings/variables.ts'
import { addressList } from './address-list.ts'
import { LOOPBACK } from './client-address.ts'

/** The settings of every API process, regardless of its services. */
export const apiSettings = settingsFragment({
  variables: {
    API_PORT: documented(
      port().prefault('8080'),
      'port of all HTTP APIs; with `npm start`, the ports of further processes follow in steps of 100',
    ),
    API_HOST: documented(z.string().prefault('127.0.0.1'), 'address that the APIs listen on'),
    OPERATIONS_PORT: documented(
      port().prefault('0'),
      'port on which an API serves `/metrics`, and `/readyz` with reasons; 0 for any free port; `npm start` sets it',
    ),
    OPERATIONS_HOST: documented(z.string().prefault('127.0.0.1'), 'address that `OPERATIONS_PORT` listens on; keep it inside the network'),
    PUBLIC_URL: documented(
      addressOf('http', 'https').prefault('http://localhost:8080'),
      'base of URLs in answers and in the documentation',
    ),
    TRUSTED_PROXIES: documented(
      addressList.prefault(LOOPBACK.join(',')),
      'addresses and CIDR ranges of load balancers whose X-Forwarded-For is trusted',
    ),
    API_MAX_CONNECTIONS: documented(
      wholeNumber(1).prefault('10000'),
      'maximum number of open connections of an API process; each needs a file descriptor and some 10 KB',
    ),
    API_MAX_CONNECTIONS_PER_ADDRESS: documented(
      wholeNumber(1).prefault('256'),
      'maximum number of open connections from one address or one IPv6 /64; `TRUSTED_PROXIES` have no such limit',
    ),
    API_DRAIN_DELAY_MS: documented(
      timerMs().prefault('0'),
      'how long a stopping API reports that it is not ready before it refuses connections',
    ),
    API_DRAIN_TIMEOUT_MS: documented(
      timerMs().prefault('10000'),
      'time limit for requests that are still running when a stopping API begins to refuse connections',
    ),
    SPOOL_DIR: documented(
      z.string().optional(),
      'folder in which APIs keep records that Kafka has not accepted yet; it must outlive the process, so mount a volume if the API runs in a container',
      '`data/spool` in `MILLRACE_HOME`',
    ),
    SPOOL_MAX_BYTES: documented(
      wholeNumber(1).prefault('268435456'),
      'maximum number of bytes in the spool of each API process; when it is full, requests that need the spool get 503',
    ),
    API_TABLES_DIR: documented(
      z.string().optional(),
      'folder for snapshots of tables, with which an API can answer if it starts while Kafka is unavailable; safe to delete',
      '`data/tables` in `MILLRACE_HOME`',
    ),
    LOG_LEVEL: logLevel,
  },
  value: (env, { home }) => ({
    host: env.API_HOST,
    /** 0 chooses any free port. */
    port: env.API_PORT,
    /** The address that serves metrics, and `/readyz` with the reasons why parts are not ready. */
    operations: { host: env.OPERATIONS_HOST, port: env.OPERATIONS_PORT },
    /** Base of the absolute URLs in answers, without a slash at the end, because paths are appended. */
    publicUrl: env.PUBLIC_URL.replace(/\/+$/, ''),
    /** Proxies whose X-Forwarded-For the API trusts, as addresses and CIDR ranges. */
    trustedProxies: env.TRUSTED_PROXIES,
    connections: { total: env.API_MAX_CONNECTIONS, perAddress: env.API_MAX_CONNECTIONS_PER_ADDRESS },
    spool: { folder: env.SPOOL_DIR ?? join(home, 'data', 'spool'), maxBytes: env.SPOOL_MAX_BYTES },
    /** Folder for the snapshots of tables. */
    tablesFolder: env.API_TABLES_DIR ?? join(home, 'data', 'tables'),
    drainDelayMs: env.API_DRAIN_DELAY_MS,
    drainTimeoutMs: env.API_DRAIN_TIMEOUT_MS,
    logLevel: env.LOG_LEVEL,
  }),
})
