//! Documents of OpenAPI 3.0 and 3.1, as projects write them.

use prony_testkit::table::rows;

use super::*;
use crate::import::MAX_INPUT_BYTES;
use crate::import::write;

fn hurl(text: &str) -> (String, Vec<String>) {
    let imported = openapi(text).unwrap_or_else(|error| panic!("{error}"));
    let hurl = write(&imported.entries, &[]).expect("a Hurl file");
    let file = prony_hurl::parse(&hurl)
        .unwrap_or_else(|error| panic!("{}", error.render("a.hurl", &hurl)));
    assert_eq!(prony_hurl::unsupported(&file), []);
    let name = |variable: &crate::import::Variable| variable.name.to_string();
    let variables = imported.variables.iter().map(name).collect();
    (hurl, variables)
}

/// The well-known example, shortened.
const PETSTORE: &str = r##"
openapi: 3.0.3
info: {title: Petstore, version: 1.0.0}
servers:
  - url: /api/v3
paths:
  /pet:
    put:
      operationId: updatePet
      summary: Update an existing pet
      requestBody:
        content:
          application/xml:
            schema: {$ref: '#/components/schemas/Pet'}
          application/json:
            schema:
              $ref: '#/components/schemas/Pet'
        required: true
      responses:
        '404': {description: Not found}
        '200': {description: Done}
      security:
        - petstore_auth: ['write:pets']
  /pet/findByStatus:
    get:
      operationId: findPetsByStatus
      parameters:
        - name: status
          in: query
          required: true
          schema: {type: array, items: {type: string, enum: [available, sold]}}
        - {name: limit, in: query, schema: {type: integer}}
      responses:
        200: {description: Unquoted}
  /pet/{petId}:
    parameters:
      - name: petId
        in: path
        required: true
        schema: {type: integer, format: int64, example: 10}
    get:
      parameters:
        - {name: X-Request-Id, in: header, required: true, schema: {type: string, format: uuid}}
        - {name: Accept, in: header, required: true, schema: {type: string}}
        - {name: lang, in: cookie, required: true, example: e n}
      responses: {2XX: {description: Any}}
      security:
        - api_key: []
    delete:
      responses: {default: {description: Any}}
      security: []
  /pet/{petId}/image/{size}:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: string, default: a/b c}}
    post:
      requestBody:
        content:
          multipart/form-data:
            schema:
              required: [file, note]
              properties:
                file: {type: string, format: binary}
                note: {type: string}
      responses: {'201': {description: Created}}
  /user/login:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema:
              required: [name, password]
              properties:
                name: {type: string, example: a b}
                password: {type: string}
      responses: {'302': {description: Found}}
  /backup:
    put:
      requestBody: {content: {application/octet-stream: {schema: {type: string, format: binary}}}}
      responses: {'204': {description: Done}}
security:
  - basic: []
components:
  securitySchemes:
    petstore_auth: {type: oauth2, flows: {}}
    api_key: {type: apiKey, name: X-Api-Key, in: header}
    basic: {type: http, scheme: basic}
  schemas:
    Category: {type: object, properties: {name: {type: string, example: Dogs}}}
    Pet:
      required: [name, photoUrls]
      type: object
      properties:
        id: {type: integer, example: 10}
        name: {type: string, example: "{{doggie}}"}
        category: {$ref: '#/components/schemas/Category'}
        photoUrls: {type: array, items: {type: string}}
        status: {type: string, enum: [available]}
"##;

#[test]
fn the_petstore() {
    let (text, variables) = hurl(PETSTORE);
    let expected = r#"# updatePet: Update an existing pet
PUT {{host}}/api/v3/pet
authorization: Bearer {{token}}
content-type: application/json
```raw
{
  "id": 10,
  "name": "{{doggie}}",
  "photoUrls": [],
  "status": "available"
}```
HTTP 200

# findPetsByStatus
GET {{host}}/api/v3/pet/findByStatus?status=available
[BasicAuth]
{{user}}: {{password}}
HTTP 200

GET {{host}}/api/v3/pet/10
X-Request-Id: 00000000-0000-4000-8000-000000000000
X-Api-Key: {{api_key}}
cookie: lang=e n
HTTP *
[Asserts]
status >= 200
status < 300

DELETE {{host}}/api/v3/pet/10

POST {{host}}/api/v3/pet/a%2Fb%20c/image/{{size}}
[BasicAuth]
{{user}}: {{password}}
[Multipart]
file: file,{{file_file}};
note: text
HTTP 201

POST {{host}}/api/v3/user/login
[BasicAuth]
{{user}}: {{password}}
[Form]
name: a b
password: text
HTTP 302

PUT {{host}}/api/v3/backup
content-type: application/octet-stream
[BasicAuth]
{{user}}: {{password}}
file,{{body_file}};
HTTP 204
"#;
    assert_eq!(text, expected);
    let names = "host token user password api_key file_file size body_file";
    assert_eq!(variables.join(" "), names);
}

#[test]
fn json_of_version_3_1() {
    let text = r##"{
        "openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "webhooks": {"order": {"post": {}}},
        "servers": [{"url": "https://{region}.shop.example/v1/", "variables": {"region": {"default": "eu"}}}],
        "paths": {
            "/orders": {"$ref": "#/components/pathItems/Orders"},
            "/keys": {"get": {
                "security": [{"key": []}], "responses": {"200": {"description": ""}},
                "parameters": [
                    {"name": "a b", "in": "query", "required": true, "examples": {"one": {"$ref": "#/components/examples/One"}}},
                    {"name": "filter", "in": "query", "required": true, "content": {"application/json": {"example": {"x": 1}}}}
                ]
            }}
        },
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "k&y"}, "bearer": {"type": "http", "scheme": "Bearer"}},
            "examples": {"One": {"value": "1&2"}},
            "pathItems": {"Orders": {"servers": [{"url": "http://a"}, {"url": "http://b"}], "post": {
                "summary": "Order\nsomething", "security": [{"bearer": []}],
                "requestBody": {"content": {"application/vnd.shop+json": {"schema": {
                    "type": ["object", "null"], "required": ["count", "next"],
                    "properties": {
                        "count": {"type": "integer", "exclusiveMinimum": 3},
                        "next": {"anyOf": [{"type": "null"}, {"const": "x"}]},
                        "note": {"type": "string", "examples": ["hello"]}
                    }
                }}}},
                "responses": {"201": {"description": ""}, "200": {"description": ""}}
            }}}
        }
    }"##;
    let expected = r#"# Order something
POST {{host}}/orders
authorization: Bearer {{token}}
content-type: application/vnd.shop+json
{
  "count": 4,
  "next": "x",
  "note": "hello"
}
HTTP 201

GET https://eu.shop.example/v1/keys?a%20b=1%262&filter=%7B%22x%22%3A1%7D&k%26y={{key}}
HTTP 200
"#;
    let (text, variables) = hurl(text);
    assert_eq!(text, expected);
    assert_eq!(variables, ["host", "token", "key"]);
}

#[test]
fn samples_meet_their_schemas_or_say_what_they_miss() {
    let text = r##"
openapi: 3.0.3
servers: [{url: "http://a"}]
paths:
  /required:
    post:
      requestBody: {content: {application/json: {schema: {allOf: [{$ref: '#/components/schemas/Pet'}, {required: [name]}]}}}}
  /discriminator:
    post:
      requestBody: {content: {application/json: {schema: {oneOf: [{$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: kind, mapping: {dog: '#/components/schemas/Dog'}}}}}}
  /query/{list}/{object}:
    get:
      parameters:
        - {name: filter, in: query, required: true, style: deepObject, explode: true, schema: {type: object, required: [color], properties: {color: {type: string, enum: [red]}}}}
        - {name: page, in: query, required: true, schema: {type: object, required: [size], properties: {size: {type: integer}}}}
        - {name: ids, in: query, required: true, style: pipeDelimited, explode: false, schema: {type: array, example: [1, 2]}}
        - {name: tags, in: query, required: true, explode: false, schema: {type: array, items: {type: string}, example: [a b, c]}}
        - {name: list, in: path, required: true, style: matrix, explode: true, schema: {type: array, example: [1, 2]}}
        - {name: object, in: path, required: true, schema: {type: object, example: {a: 1, b: 2}}}
        - {name: X-A, in: header, required: true, explode: true, schema: {type: object, example: {a: 1, b: 2}}}
  /unmet/{id}:
    post:
      operationId: unmet
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}, example: x}
      requestBody: {content: {application/json: {schema: {type: string, pattern: '^(?=a)a$'}}}}
  /null:
    post:
      requestBody: {content: {application/json: {schema: {type: integer, nullable: true, minimum: 1, exclusiveMinimum: true, example: null}}}}
  /form:
    post:
      requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object, example: {ids: [1, 2], at: {x: 1}, by: {y: 2}}}, encoding: {by: {style: deepObject}}}}}
components:
  schemas:
    Pet: {type: object, properties: {name: {type: string}}}
    Dog: {type: object, required: [kind], properties: {kind: {type: string}}}
"##;
    let expected = r#"POST http://a/required
content-type: application/json
{
  "name": "text"
}

POST http://a/discriminator
content-type: application/json
{
  "kind": "dog"
}

GET http://a/query/;list=1;list=2/a,1,b,2?filter[color]=red&size=1&ids=1|2&tags=a%20b,c
X-A: a=1,b=2

# unmet
# Check the parameter `id`, which does not match its schema: "x" is not of type "integer"
# Check the body, which Prony cannot compare with its schema: "^(?=a)a$" is not a "regex"
POST http://a/unmet/x
content-type: application/json
`"text"`

POST http://a/null
content-type: application/json
`null`

POST http://a/form
[Form]
ids: 1
ids: 2
at: {"x":1}
by[y]: 2
"#;
    assert_eq!(hurl(text).0, expected);
}

fn refused(text: &str, message: &str) {
    let error = openapi(text).expect_err(message).to_string();
    assert!(error.contains(message), "{message}: {error}");
}

#[test]
fn other_documents_are_refused() {
    for [text, message] in rows(
        r#"
        "" | the file is empty
        \x20\n | the file is empty
        {"openapi": \n,} | this is not JSON: expected value at line 2 column 1
        openapi: 3.0.0\npaths: [} | line 2
        a: 1 | it has no field `openapi`
        just text | it has no field `openapi`
        swagger: "2.0" | this is Swagger 2.0; convert it
        swagger: 2.0 | this is Swagger 2.0; convert it
        openapi: 4.0.0 | OpenAPI 4.0.0 is not supported
        openapi: 3.0.0 | the document has no operations
        openapi: 3.1\npaths: {/a: {summary: b}} | the document has no operations
        openapi: 3.0.0\npaths: {/a: {get: {parameters: [{$ref: 'other.yaml#/a'}]}}} | get /a: `$ref: other.yaml#/a` is in another file
        openapi: 3.0.0\npaths: {/a: {get: {parameters: [{$ref: '#/nothing'}]}}} | get /a: `$ref: #/nothing` names nothing
        openapi: 3.0.0\npaths: {/a: {$ref: '#/paths/~1a'}} | /a: `$ref: #/paths/~1a` refers to itself
        openapi: 3.0.0\nservers: [{url: 'ftp://a'}]\npaths: {/a: {get: {}}} | get /a: the server `ftp://a` is not a URL of HTTP
    "#,
    ) {
        refused(text, message);
    }
}

#[test]
fn documents_that_are_too_deep_or_too_long_are_refused() {
    let mut aliases = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (before, name) in ('a'..).zip('b'..='l') {
        let ten = vec![format!("*{before}"); 10].join(", ");
        aliases += &format!("{name}: &{name} [{ten}]\n");
    }
    refused(&aliases, "this is not YAML");
    let deep = "[".repeat(100_000);
    refused(&format!("{{\"openapi\": {deep}"), "this is not JSON");
    refused(&format!("openapi: {deep}"), "this is not YAML");
    let lines = (0..2_000).map(|depth| " ".repeat(depth) + "a:\n");
    refused(&lines.collect::<String>(), "this is not YAML");
    refused(&" ".repeat(MAX_INPUT_BYTES + 1), "longer than 64 MiB");
}
