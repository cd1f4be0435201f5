import { join, resolve } from 'node:path'
import { z } from 'zod'
import { type Surroundings, settingsFragment } from './fragment.ts'
import { documented } from './variables.ts'

const DEFAULT_HOME = join(import.meta.dirname, '..', '.millrace')

/** The settings that every process of Millrace reads. */
export const surroundingsSettings = settingsFragment({
  variables: {
    MILLRACE_HOME: documented(
      z.string().prefault(DEFAULT_HOME),
      'folder of all local data, logs and downloaded tools; to start over with an empty system, delete it',
      '`.millrace/` in the checkout',
    ),
    NODE_ENV: documented(
      // A misspelt `production` would silently switch to generated secrets and the development key.
      z
        .string()
        .refine((text) => text === 'production' || !/^prod/i.test(text), 'begins like production, but is not exactly `production`')
        .prefault('development'),
      '`production` requires your own keys and secrets, the same for all processes; Millrace then generates none',
    ),
  },
  value: (env): Surroundings => ({ home: resolve(env.MILLRACE_HOME), isProduction: env.NODE_ENV === 'production' }),
})
