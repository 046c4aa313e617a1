import CloudKitModel
import JSON

/// Describes the paths of the gateway in the OpenAPI format (version 3.1.0), for tools that make clients, or that test
/// the gateway. The path of the document itself is not described.
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
                for endpoint in Endpoint.all {
                    json.append(key: endpoint.path)
                    json.object { endpoint.write(into: &$0) }
                }
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
}

/// A path of the gateway, with what a client may send to it.
struct Endpoint {
    /// The body of a request or an answer.
    enum Content {
        case json(Schema, example: String?)
        /// The bytes of a file.
        case file
    }

    struct Method {
        /// Such as `GET`.
        let name: String
        /// Unique in the document.
        let id: String
        let summary: String
        var request: Content?
        let answer: Content
    }

    struct Parameter {
        let name: String
        let isInPath: Bool
        let schema: Schema
    }

    /// The path. The name of each parameter in the path is in braces.
    let path: String
    let parameters: [Parameter]
    let methods: [Method]

    static let all =
        Operation.allCases.flatMap { operation in
            (operation.isOfDevice ? [false, true] : [true]).map { Endpoint(operation, namesDatabase: $0) }
        } + [signIn, asset]

    private static let signIn = Endpoint(
        path: "/auth/1/{container}/{environment}/signin", parameters: [.container, .environment],
        methods: [
            Method(
                name: "POST", id: "post-signin",
                summary: "Exchanges an assertion of the operator's sign-in service for a web authentication token.",
                request: .json(
                    .object([.required("assertion", .text), .optional("keepSignedIn", .flag)]), example: nil),
                answer: .json(
                    .object([
                        .required("userRecordName", .text), .required("webAuthToken", .text),
                        .required("expires", .text),
                    ]), example: nil))
        ])

    private static let asset = Endpoint(
        path: WebService.assetPath + "{ticket}",
        parameters: [Parameter(name: "ticket", isInPath: true, schema: .pattern("[A-Za-z0-9._~-]+"))],
        methods: ["POST", "PUT"].map { name in
            Method(
                name: name, id: "\(name.lowercased())-asset",
                summary: "Uploads the file of an asset to an address that assets/upload gave.", request: .file,
                answer: .json(.object([.required("singleFile", Schema.assetValue)]), example: nil))
        } + [
            Method(name: "GET", id: "get-asset", summary: "Downloads the file of an asset.", answer: .file)
        ])

    fileprivate init(path: String, parameters: [Parameter], methods: [Method]) {
        (self.path, self.parameters, self.methods) = (path, parameters, methods)
    }

    /// - Parameter namesDatabase: Whether the path names a database.
    fileprivate init(_ operation: Operation, namesDatabase: Bool) {
        path = operation.pathTemplate(namesDatabase: namesDatabase)
        parameters =
            [.container, .environment] + (namesDatabase ? [.database(of: operation)] : [])
            + ["ckAPIToken", "ckWebAuthToken"].map {
                Parameter(name: $0, isInPath: false, schema: .pattern(".+"))
            }
        methods = operation.methods.map { name in
            Method(
                name: name,
                id: "\(name.lowercased())-\(operation.rawValue.replacing("/", with: "-"))"
                    + (namesDatabase && operation.isOfDevice ? "-in-database" : ""),
                summary: operation.summary,
                request: name == "POST" ? .json(operation.request, example: operation.example) : nil,
                answer: .json(operation.answer, example: nil))
        }
    }
}

extension Endpoint.Parameter {
    fileprivate static let container = Self(name: "container", isInPath: true, schema: Schema.container)
    fileprivate static let environment = Self(
        name: "environment", isInPath: true, schema: .word(["development", "production"]))

    fileprivate static func database(of operation: Operation) -> Self {
        let scopes = DatabaseScope.allCases.filter(operation.databases.contains)
        return Self(name: "database", isInPath: true, schema: .word(scopes.map { "\($0.word)" }))
    }

    fileprivate func write(into json: inout ByteBuffer) {
        json.append("name", name)
        json.append("in", isInPath ? "path" : "query")
        json.append("required", isInPath)
        json.append(member: "schema")
        schema.write(into: &json)
    }
}

extension Endpoint {
    fileprivate func write(into json: inout ByteBuffer) {
        json.append("parameters", parameters) { json, parameter in json.object { parameter.write(into: &$0) } }
        for method in methods {
            json.append(key: method.name.lowercased())
            json.object { method.write(into: &$0) }
        }
    }
}

extension Endpoint.Method {
    /// The statuses of CloudKit's codes, and the statuses for paths and headers that are too long for the server.
    private static let errorStatuses = Set(ServerErrorCode.allCases.map(\.status)).union([414, 431]).sorted()

    fileprivate func write(into json: inout ByteBuffer) {
        json.append("operationId", id)
        json.append("summary", summary)
        if let request {
            json.append(member: "requestBody")
            json.object { json in
                json.append("required", request.isRequired)
                json.append(member: "content")
                request.write(into: &json)
            }
        }
        json.append(member: "responses")
        json.object { json in
            write(status: "200", "The answer; an item that failed is an error dictionary.", answer, &json)
            for status in Self.errorStatuses {
                let error = Endpoint.Content.json(.named("Error"), example: nil)
                write(status: "\(status)", "The whole request failed.", error, &json)
            }
        }
    }

    private func write(
        status: String, _ description: String, _ content: Endpoint.Content, _ json: inout ByteBuffer
    ) {
        json.append(key: status)
        json.object { json in
            json.append("description", description)
            json.append(member: "content")
            content.write(into: &json)
        }
    }
}

extension Endpoint.Content {
    fileprivate var isRequired: Bool {
        switch self {
        case .json(let schema, _): schema.hasRequiredMembers
        case .file: false
        }
    }

    fileprivate func write(into json: inout ByteBuffer) {
        json.object { json in
            switch self {
            case .json(let schema, let example):
                json.append(member: "application/json")
                json.object { json in
                    json.append(member: "schema")
                    schema.write(into: &json)
                    json.append("example", raw: example)
                }
            case .file:
                json.append(member: "application/octet-stream")
                json.append("{}")
            }
        }
    }
}

extension Operation {
    /// - Parameter namesDatabase: Must be true unless ``isOfDevice`` is true.
    func pathTemplate(namesDatabase: Bool) -> String {
        let root =
            namesDatabase ? "/database/1/{container}/{environment}/{database}/" : "/device/1/{container}/{environment}/"
        return root + rawValue
    }
}
