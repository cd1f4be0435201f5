import { createRequire } from 'node:module'

/*
 * This module patches Ajv because @platformatic/kafka 2.12 has no option to avoid compiling its validators. The package
 * compiles 38 validators while its modules are loaded, before any option could take effect. Loading only some of its
 * modules is not possible, because its `exports` field allows only the index to be imported. Loading the package takes
 * 320 ms of CPU time with the patch and 470 ms without it (Node 24, two busy cores).
 */

/** The part of Ajv that the protocol package uses while it is loaded. */
interface Validate {
  (this: unknown, data: unknown, context?: unknown): unknown
  errors?: unknown
}
interface Ajv {
  compile(schema: unknown, meta?: boolean): Validate
}

// Finds the Ajv that the package itself uses, regardless of where it is installed.
const require = createRequire(import.meta.url)
const packaged = createRequire(require.resolve('@platformatic/kafka'))
const { prototype } = (packaged('ajv/dist/2020.js') as { Ajv2020: { prototype: Ajv } }).Ajv2020
const { compile } = prototype

/** Postpones the compilation until the validator is first called. */
function compileLater(this: Ajv, schema: unknown, meta?: boolean): Validate {
  let compiled: Validate | undefined
  const compileNow = compile.bind(this, schema, meta)
  function validate(this: unknown, data: unknown, context?: unknown): unknown {
    compiled ??= compileNow()
    const valid = compiled.call(this, data, context)
    validate.errors = compiled.errors
    return valid
  }
  validate.errors = undefined as unknown
  return validate
}

prototype.compile = compileLater

/** Removes the patch, so that all other users of Ajv get its normal behaviour. */
export function endLateValidators(): void {
  Reflect.deleteProperty(prototype, 'compile')
}
