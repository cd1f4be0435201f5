import { inheritedEnv } from '../config.ts'

/**
 * Java encodes file names as the locale requires. In the locale `C`, which containers and cron jobs have, Java would
 * not find files below a folder with accented letters.
 */
const UTF_8_LOCALE = { LC_ALL: 'C.UTF-8' }

/** Returns the environment of programs that run Java. */
export function javaEnvironment(): NodeJS.ProcessEnv {
  return { ...inheritedEnv(), ...UTF_8_LOCALE }
}
