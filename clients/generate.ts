/**
 * Writes the generated part of both clients from the endpoint declarations and the event schemas: `npm run clients`.
 * A test fails when they are stale.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientFiles } from './generator/client-files.ts'

for (const [file, text] of clientFiles()) writeFileSync(join(import.meta.dirname, file), text)
