// Draws the OpenAPI document. Text goes in as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// `code` between backticks, everything else as it is.
function prose(text) {
  const paragraph = element("p");
  (text || "").split("`").forEach((piece, place) => {
    paragraph.append(place % 2 === 1 ? element("code", {}, piece) : piece);
  });
  return paragraph;
}

function nameOf(reference) {
  return reference.split("/").pop();
}

// A schema in one line, with links to the shapes it names.
function shape(schema) {
  if (!schema) return document.createTextNode("anything");
  if (schema.$ref) {
    const name = nameOf(schema.$ref);
    return element("a", { href: `#schema-${name}` }, name);
  }
  const several = schema.oneOf || schema.anyOf || schema.allOf;
  if (several) {
    const line = element("span");
    const joint = schema.allOf ? " and " : " or ";
    several.forEach((each, place) => line.append(place ? joint : "", shape(each)));
    return line;
  }
  if (schema.enum) return document.createTextNode(schema.enum.map((value) => JSON.stringify(value)).join(" | "));
  const types = [].concat(schema.type || "anything");
  if (types.includes("array")) return element("span", {}, "array of ", shape(schema.items));
  const format = schema.format ? ` (${schema.format})` : "";
  return document.createTextNode(types.join(" or ") + format);
}

function table(head, rows) {
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...head.map((cell) => element("th", {}, cell)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))))),
  );
}

function properties(schema, schemas, seen = new Set()) {
  if (schema.$ref) {
    const name = nameOf(schema.$ref);
    if (seen.has(name)) return [];
    return properties(schemas[name] || {}, schemas, new Set([...seen, name]));
  }
  const own = Object.entries(schema.properties || {}).map(([name, value]) => ({
    name,
    value,
    required: (schema.required || []).includes(name),
  }));
  return own.concat(...(schema.allOf || []).map((part) => properties(part, schemas, seen)));
}

function example(schema, schemas, depth = 0) {
  if (!schema || depth > 4) return null;
  if (schema.$ref) return example(schemas[nameOf(schema.$ref)], schemas, depth + 1);
  if (schema.example !== undefined) return schema.example;
  if (schema.enum) return schema.enum[0];
  const types = [].concat(schema.type || []);
  if (types.includes("array")) return [example(schema.items, schemas, depth + 1)];
  if (types.includes("object") || schema.properties) {
    return Object.fromEntries(
      properties(schema, schemas)
        .filter((property) => property.required)
        .map((property) => [property.name, example(property.value, schemas, depth + 1)]),
    );
  }
  if (types.includes("boolean")) return false;
  if (types.includes("integer") || types.includes("number")) return 0;
  return types.includes("string") ? "" : null;
}

// Where an example made from the schema would say nothing.
const EXAMPLES = {
  submit_job: { url: `${location.origin}/dev/echo`, payload: { n: 1 } },
  submit_batch: { jobs: [{ url: `${location.origin}/dev/echo` }, { url: `${location.origin}/dev/status/500` }] },
  retry_jobs: { filter: { state: "dead" }, dry_run: true },
  cancel_jobs: { filter: { queue: "default" }, dry_run: true },
  delete_jobs: { filter: { state: "completed" }, dry_run: true },
};

function curl(method, path, operation, schemas) {
  const lines = [`curl -s${method === "get" ? "" : ` -X ${method.toUpperCase()}`} '${location.origin}${path}'`];
  const content = operation.requestBody && operation.requestBody.content["application/json"];
  if (content) {
    const body = EXAMPLES[operation.operationId] || example(content.schema, schemas);
    lines.push("  -H 'content-type: application/json'", `  -d '${JSON.stringify(body)}'`);
  }
  return element("pre", {}, element("code", {}, lines.join(" \\\n")));
}

function drawOperation(method, path, operation, schemas, responses) {
  const body = element("div", {}, prose(operation.description));
  const parameters = operation.parameters || [];
  if (parameters.length) {
    body.append(
      element("h4", {}, "Parameters"),
      table(
        ["name", "in", "type", "meaning"],
        parameters.map((parameter) => [
          element("code", {}, parameter.name),
          parameter.in + (parameter.required ? ", required" : ""),
          shape(parameter.schema),
          prose(parameter.description),
        ]),
      ),
    );
  }
  const content = operation.requestBody && operation.requestBody.content["application/json"];
  if (content) body.append(element("h4", {}, "Body"), element("p", {}, shape(content.schema)));
  body.append(
    element("h4", {}, "Answers"),
    table(
      ["status", "meaning", "body"],
      Object.entries(operation.responses).map(([status, given]) => {
        const response = given.$ref ? responses[nameOf(given.$ref)] : given;
        const first = Object.values(response.content || {})[0];
        return [element("code", {}, status), prose(response.description), first ? shape(first.schema) : "none"];
      }),
    ),
    element("h4", {}, "Try it"),
    curl(method, path, operation, schemas),
  );
  return element(
    "details",
    { id: operation.operationId },
    element(
      "summary",
      {},
      element("span", { class: "method" }, method.toUpperCase()),
      element("code", {}, path),
      element("span", { class: "note" }, operation.summary || ""),
    ),
    body,
  );
}

function drawSchema(name, schema, schemas) {
  const fields = properties(schema, schemas);
  const body = element("div", {}, prose(schema.description));
  body.append(
    fields.length
      ? table(
          ["field", "type", "meaning"],
          fields.map((field) => [
            element("span", {}, element("code", {}, field.name), field.required ? "" : " ?"),
            shape(field.value),
            prose(field.value.description),
          ]),
        )
      : element("p", {}, shape(schema)),
  );
  return element("details", { id: `schema-${name}` }, element("summary", {}, element("code", {}, name)), body);
}

// A link into a folded part opens it.
function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
  }
}

async function draw() {
  const operations = document.getElementById("operations");
  const response = await fetch("/api/openapi.json");
  if (!response.ok) {
    operations.append(element("p", {}, `The document could not be read: ${response.status}`));
    return;
  }
  const api = await response.json();
  const { schemas = {}, responses = {} } = api.components || {};
  document.getElementById("title").textContent = `${api.info.title}: the API`;
  document.getElementById("about").replaceWith(prose(api.info.description));
  const groups = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((method) => item[method])) {
      const tag = (item[method].tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(drawOperation(method, path, item[method], schemas, responses));
    }
  }
  for (const [tag, drawn] of groups) operations.append(element("h2", {}, tag), ...drawn);
  const shapes = document.getElementById("schemas");
  for (const [name, schema] of Object.entries(schemas)) shapes.append(drawSchema(name, schema, schemas));
  openTarget();
}

window.addEventListener("hashchange", openTarget);
draw();
