import { useState } from 'preact/hooks'
import { prettyJson } from '../pretty-json.ts'
import type { Operation, Resolve, Schema } from './document.ts'
import type { Caller } from './key.ts'
import { fieldsOf } from './schema-text.ts'
import { inline, Text } from './text.tsx'
import { TryIt } from './try-it.tsx'

/** One operation; its content is rendered when it is opened. */
export function OperationView(props: {
  operation: Operation
  isOpen: boolean
  onToggle: (isOpen: boolean) => void
  caller: Caller
  resolve: Resolve
}) {
  const { operation, isOpen, onToggle } = props
  return (
    <details
      id={operation.id}
      class="operation"
      open={isOpen}
      onToggle={(event) => onToggle(event.currentTarget.open)}
    >
      <summary>
        <b class={`verb ${operation.method.toLowerCase()}`}>{operation.method}</b>
        <code>{operation.path}</code>
        <span class="muted">{operation.summary}</span>
      </summary>
      {isOpen && <Inside {...props} />}
    </details>
  )
}

function Inside({ operation, caller, resolve }: { operation: Operation; caller: Caller; resolve: Resolve }) {
  const [, success] = operation.responses.find(([status]) => status.startsWith('2')) ?? []
  const media = success?.content?.['application/json']
  return (
    <div class="inside">
      <Text>{operation.description}</Text>
      <TryIt operation={operation} caller={caller} />
      {operation.body?.schema !== undefined && (
        <Fields title="Body" schema={operation.body.schema} resolve={resolve} />
      )}
      {media?.schema !== undefined && <Fields title="Answer" schema={media.schema} resolve={resolve} />}
      {media?.example !== undefined && (
        <details>
          <summary>Example of an answer</summary>
          <pre class="code">{prettyJson(JSON.stringify(media.example))}</pre>
        </details>
      )}
      <h3>Statuses</h3>
      <table class="statuses">
        <tbody>
          {operation.responses.map(([status, { description }]) => (
            <tr key={status}>
              <th>{status}</th>
              <td>
                <Text>{description}</Text>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Fields({ title, schema, resolve }: { title: string; schema: Schema; resolve: Resolve }) {
  return (
    <>
      <h3>{title}</h3>
      <FieldTable schema={schema} resolve={resolve} />
    </>
  )
}

function FieldTable({ schema, resolve }: { schema: Schema; resolve: Resolve }) {
  return (
    <table class="fields">
      <tbody>
        {fieldsOf(schema, resolve).map(({ name, type, description, isOptional, inner }) => (
          <tr key={name}>
            <th>
              <code>{name}</code>
              {isOptional && <small class="muted"> optional</small>}
            </th>
            <td>
              <code class="type">{type}</code> {inline(description)}
              {inner !== undefined && <Inner schema={inner} resolve={resolve} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Rendered on demand, because the parameters of a node's block would fill the page. */
function Inner({ schema, resolve }: { schema: Schema; resolve: Resolve }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>fields</summary>
      {isOpen && <FieldTable schema={schema} resolve={resolve} />}
    </details>
  )
}
