import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { asyncapiDocument } from '../../src/api/publish/asyncapi.ts'
import { openapiDocument } from '../../src/api/publish/openapi.ts'
import { eventSchema } from '../../src/events/event-schema.ts'
import { renderPython } from './python.ts'
import { type ClientModel, readDocuments } from './read-documents.ts'
import { renderTypeScript } from './typescript.ts'

const ROOT = join(import.meta.dirname, '../..')

export function publishedModel(endpoints: typeof ENDPOINTS = ENDPOINTS): ClientModel {
  const openapi = JSON.parse(JSON.stringify(openapiDocument(endpoints))) as object
  return readDocuments(openapi, asyncapiDocument(eventSchema))
}

/** Path in this folder → text. */
export function clientFiles(model: ClientModel = publishedModel()): Map<string, string> {
  return new Map([
    ['typescript/src/generated.ts', formatted(renderTypeScript(model))],
    ['python/tapeline/_generated.py', renderPython(model)],
  ])
}

function formatted(text: string): string {
  const biome = join(ROOT, 'node_modules/.bin/biome')
  return execFileSync(biome, ['format', '--stdin-file-path=generated.ts'], {
    cwd: ROOT,
    input: text,
    encoding: 'utf8',
  })
}
