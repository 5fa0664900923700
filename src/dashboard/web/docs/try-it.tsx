import { useEffect, useState } from 'preact/hooks'
import { plural } from '../format.ts'
import { prettyJson } from '../pretty-json.ts'
import { type ApiCallParts, LANGUAGES, type Language, snippet, targetOf } from '../snippets.ts'
import { CopyButton } from '../ui/copy.tsx'
import { Button, Field } from '../ui/parts.tsx'
import { readBody } from './body.ts'
import type { Operation, Parameter } from './document.ts'
import type { Caller } from './key.ts'
import { boundsText } from './schema-text.ts'
import { inline } from './text.tsx'

const SHOWN_CHARS = 20_000
/** The price is requested when the values have not changed for this long. */
const REST_MS = 400

/** The values of the parameters, a program that sends them, and a button that does. */
export function TryIt({ operation, caller }: { operation: Operation; caller: Caller }) {
  const [values, setValues] = useState(() => firstValues(operation))
  const [body, setBody] = useState(() => bodyText(operation.body?.example))
  const [language, setLanguage] = useState<Language>('curl')
  const [answer, setAnswer] = useState<Answer>()
  const [isBusy, setBusy] = useState(false)
  const parsed = operation.body === undefined ? undefined : readBody(body)
  const call = callOf(operation, values, parsed && { bodyText: body, body: parsed.value })
  const price = usePrice(operation, call, caller)
  const missing = operation.parameters.find(({ name, required }) => required && !values[name])
  const send = async () => {
    setBusy(true)
    const received = await sendCall(call, caller)
    rememberId(operation, received)
    setAnswer(received)
    setBusy(false)
  }
  return (
    <div class="try">
      {operation.parameters.length > 0 && (
        <div class="inputs">
          {operation.parameters.map((parameter) => (
            <Input
              key={parameter.name}
              parameter={parameter}
              value={values[parameter.name] ?? ''}
              onValue={(value) => setValues({ ...values, [parameter.name]: value })}
            />
          ))}
        </div>
      )}
      {operation.body !== undefined && (
        <Field label="Body">
          <textarea
            rows={Math.min(16, body.split('\n').length + 1)}
            spellcheck={false}
            value={body}
            onInput={(event) => setBody(event.currentTarget.value)}
          />
        </Field>
      )}
      <div class="tabs" role="tablist">
        {LANGUAGES.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={name === language}
            onClick={() => setLanguage(name)}
          >
            {name}
          </button>
        ))}
        <CopyButton text={snippet(language, call, location.origin)} />
      </div>
      <pre class="code">{snippet(language, call, location.origin)}</pre>
      <div class="row">
        <Button
          look="primary send"
          disabled={
            isBusy || missing !== undefined || parsed?.problem !== undefined || !canSend(operation, caller)
          }
          onClick={send}
        >
          Send
        </Button>
        <span class="price">{price}</span>
        {missing !== undefined && <span class="muted">{missing.name} is needed.</span>}
        {parsed?.problem !== undefined && <span class="problem">{parsed.problem}</span>}
        {!canSend(operation, caller) && <a href="#key">A key, or a sign-in, is needed.</a>}
      </div>
      {answer !== undefined && <Shown answer={answer} />}
    </div>
  )
}

const canSend = (operation: Operation, caller: Caller) =>
  !operation.needsKey || caller.key !== '' || caller.session !== undefined

function Input(props: { parameter: Parameter; value: string; onValue: (value: string) => void }) {
  const { name, schema, required, description } = props.parameter
  const choices = schema.enum as string[] | undefined
  const label = `${name}${required ? ' *' : ''}`
  const hint = [description, boundsText(schema)].filter(Boolean).join(' ')
  const isFlag = schema.type === 'boolean'
  return (
    <Field label={label} hint={hint && inline(hint)}>
      {choices !== undefined || isFlag ? (
        <select
          aria-label={name}
          value={props.value}
          onChange={(event) => props.onValue(event.currentTarget.value)}
        >
          <option value="">{required ? '' : '–'}</option>
          {(choices ?? ['true', 'false']).map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      ) : (
        <input
          aria-label={name}
          value={props.value}
          placeholder={schema.default === undefined ? '' : String(schema.default)}
          onInput={(event) => props.onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

/**
 * The ids that were last created or listed, by the path under which they are requested. No document can know such an
 * id.
 */
const seenIds = new Map<string, string>()
const ID = '/{id}'

function firstValues({ path, parameters }: Operation): Record<string, string> {
  const given = parameters.filter(({ example }) => example !== undefined)
  const seen = path.includes(ID) ? seenIds.get(path.slice(0, path.indexOf(ID))) : undefined
  return {
    ...(seen === undefined ? {} : { id: seen }),
    ...Object.fromEntries(given.map(({ name, example }) => [name, String(example)])),
  }
}

function rememberId({ method, path }: Operation, { status, text }: Answer): void {
  if (status < 200 || status >= 300) return
  if (method === 'DELETE') seenIds.delete(path.replace(ID, ''))
  const [, id] = /"id": ?"([^"]+)"/.exec(text) ?? []
  if (id !== undefined && !path.includes('{')) seenIds.set(path, id)
}

const bodyText = (example: unknown) => (example === undefined ? '{}' : JSON.stringify(example, null, 2))

function callOf(
  { method, path, parameters, isList }: Operation,
  values: Readonly<Record<string, string>>,
  body: Pick<ApiCallParts, 'body' | 'bodyText'> | undefined,
): ApiCallParts {
  const given = (place: Parameter['in']) =>
    Object.fromEntries(
      parameters
        .filter(({ name, in: where }) => where === place && values[name])
        .map(({ name }) => [name, values[name] ?? '']),
    )
  return {
    method,
    template: path,
    pathParams: given('path'),
    query: given('query'),
    isList,
    ...body,
  }
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly credits: string | null
  readonly ms: number
}

async function sendCall(call: ApiCallParts, caller: Caller): Promise<Answer> {
  const startedMs = performance.now()
  try {
    const response = await caller.fetch(call.method, targetOf(call), call.bodyText)
    const text = await response.text()
    const credits = response.headers.get('X-Credits-Charged')
    return { status: response.status, text, credits, ms: performance.now() - startedMs }
  } catch {
    return {
      status: 0,
      text: 'The service cannot be reached.',
      credits: null,
      ms: performance.now() - startedMs,
    }
  }
}

/** What the call would cost: exactly if the API can be asked, otherwise as documented. */
function usePrice(operation: Operation, call: ApiCallParts, caller: Caller): string {
  const { credits, needsKey, parameters } = operation
  const ask = caller.fetch
  const [exact, setExact] = useState<{ target: string; text: string }>()
  const target = targetOf(call)
  const canAsk = canSend(operation, caller) && parameters.some(({ name }) => name === 'dry_run')
  const isFull = parameters.every(({ name, required, in: place }) => {
    const values = place === 'path' ? call.pathParams : call.query
    return !required || values[name] !== undefined
  })
  useEffect(() => {
    if (!canAsk || !isFull) return
    const timer = setTimeout(async () => {
      const dry = `${target}${target.includes('?') ? '&' : '?'}dry_run=true`
      const response = await ask('GET', dry).catch(() => undefined)
      if (!response?.ok) return setExact(undefined)
      const { credits: price, rows } = (await response.json()) as { credits: number; rows: number }
      setExact({ target, text: `${plural(price, 'credit')} for ${plural(rows, 'row')}` })
    }, REST_MS)
    return () => clearTimeout(timer)
  }, [target, canAsk, isFull, ask])
  if (!needsKey) return 'free, without a key'
  return exact?.target === target ? exact.text : `credits: ${credits ?? 0}`
}

function Shown({ answer }: { answer: Answer }) {
  const { status, text, credits, ms } = answer
  const shown = text.slice(0, SHOWN_CHARS)
  return (
    <div class="answer" role="status">
      <p>
        <b class={status >= 200 && status < 400 ? 'good' : 'bad'}>{status === 0 ? 'no answer' : status}</b>{' '}
        {Math.round(ms)} ms{credits === null ? '' : ` · ${plural(Number(credits), 'credit')}`}
      </p>
      <pre class="code">{prettyJson(shown)}</pre>
      {text.length > SHOWN_CHARS && (
        <p class="muted">
          The first {SHOWN_CHARS} characters of {text.length}.
        </p>
      )}
    </div>
  )
}
