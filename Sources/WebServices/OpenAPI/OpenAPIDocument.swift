import CloudKitModel
import JSON

/// Describes every ``Operation`` of the gateway in the OpenAPI format (version 3.1.0), for tools that make or test
/// clients. Signing in and the addresses of assets are not described.
package enum OpenAPIDocument {
    /// The path at which a gateway answers with the document.
    package static let path = "/openapi.json"

    package static var text: String {
        ByteBuffer.object { json in
            json.append("openapi", "3.1.0")
            json.append(member: "info")
            json.object { json in
                json.append("title", "Belfry: CloudKit Web Services")
                json.append("version", "1")
            }
            json.append(member: "paths")
            json.object { json in
                for operation in Operation.allCases { write(operation, into: &json) }
            }
            json.append(member: "components")
            json.object { json in
                json.append(member: "schemas")
                json.object { json in
                    for (name, schema) in Schema.named {
                        json.append(key: name)
                        schema.write(into: &json)
                    }
                }
            }
        }.text
    }

    /// The statuses of CloudKit's codes, and the statuses for paths and headers that are too long for the server.
    private static let errorStatuses = Set(ServerErrorCode.allCases.map(\.status)).union([414, 431]).sorted()

    private static func write(_ operation: Operation, into json: inout ByteBuffer) {
        json.append(key: operation.pathTemplate)
        json.object { json in
            json.append("parameters", operation.pathParameters + ["ckAPIToken", "ckWebAuthToken"]) { json, name in
                json.object { write(parameter: name, of: operation, into: &$0) }
            }
            for method in operation.methods {
                json.append(key: method.lowercased())
                json.object { write(operation, method, into: &$0) }
            }
        }
    }

    private static func write(parameter name: String, of operation: Operation, into json: inout ByteBuffer) {
        let isInPath = !name.hasPrefix("ck")
        json.append("name", name)
        json.append("in", isInPath ? "path" : "query")
        json.append("required", isInPath)
        json.append(member: "schema")
        switch name {
        case "container": Schema.container.write(into: &json)
        case "environment": Schema.word(["development", "production"]).write(into: &json)
        case "database":
            let words = DatabaseScope.allCases.filter(operation.databases.contains).map { "\($0.word)" }
            Schema.word(words).write(into: &json)
        default: Schema.pattern(".+").write(into: &json)
        }
    }

    private static func write(_ operation: Operation, _ method: String, into json: inout ByteBuffer) {
        json.append("operationId", "\(method.lowercased())-\(operation.rawValue.replacing("/", with: "-"))")
        json.append("summary", operation.summary)
        if method == "POST" {
            json.append(member: "requestBody")
            json.object { json in
                json.append("required", operation.request.hasRequiredMembers)
                json.append(member: "content")
                writeContent(operation.request, example: operation.example, into: &json)
            }
        }
        json.append(member: "responses")
        json.object { json in
            write(status: "200", "The answer; an item that failed is an error dictionary.", operation.answer, &json)
            for status in Self.errorStatuses {
                write(status: "\(status)", "The whole request failed.", .named("Error"), &json)
            }
        }
    }

    private static func write(
        status: String, _ description: String, _ schema: Schema, _ json: inout ByteBuffer
    ) {
        json.append(key: status)
        json.object { json in
            json.append("description", description)
            json.append(member: "content")
            writeContent(schema, into: &json)
        }
    }

    private static func writeContent(_ schema: Schema, example: String? = nil, into json: inout ByteBuffer) {
        json.object { json in
            json.append(member: "application/json")
            json.object { json in
                json.append(member: "schema")
                schema.write(into: &json)
                json.append("example", raw: example)
            }
        }
    }
}

extension Operation {
    fileprivate var pathParameters: [String] { ["container", "environment"] + (isOfDevice ? [] : ["database"]) }

    var pathTemplate: String {
        let root = isOfDevice ? "/device/1" : "/database/1"
        return root + pathParameters.map { "/{\($0)}" }.joined() + "/" + rawValue
    }
}
