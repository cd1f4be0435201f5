import type { StateBackend, StateSession } from './store.ts'

/** Provides the sessions of a backend, which are opened on first use: two for each topology. */
export function sessionsOf(open: (topology: string) => StateSession): Pick<StateBackend, 'session' | 'copySession'> {
  function opener(): (topology: string) => StateSession {
    const sessions = new Map<string, StateSession>()
    return (topology) => {
      const session = sessions.get(topology) ?? open(topology)
      sessions.set(topology, session)
      return session
    }
  }
  return { session: opener(), copySession: opener() }
}
