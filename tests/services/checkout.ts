import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Step, withLines } from './page.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Copies the working tree with its uncommitted changes, but without ignored files. The installed packages are linked
 * and not copied.
 */
export function copyCheckout(target: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'], { cwd: ROOT })
  const deleted = new Set(execFileSync('git', ['ls-files', '-z', '--deleted'], { cwd: ROOT }).toString().split('\0'))
  for (const file of listed.toString().split('\0')) {
    if (file === '' || deleted.has(file)) continue
    mkdirSync(dirname(join(target, file)), { recursive: true })
    copyFileSync(join(ROOT, file), join(target, file))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(target, 'node_modules'))
}

export function apply(step: Step, checkout: string): void {
  const path = join(checkout, step.path)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, step.kind === 'file' ? step.text : withLines(readFileSync(path, 'utf8'), step.added))
}

/** Runs Node in the checkout with these arguments, and returns the standard output. */
export function runIn(checkout: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  return execFileSync(process.execPath, args, { cwd: checkout, env: { ...process.env, ...env }, encoding: 'utf8' })
}
