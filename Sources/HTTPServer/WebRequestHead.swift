import HTTPTypes
import HummingbirdCore
import NIOHTTP1

/// The head of a request whose body has not been read.
package struct WebRequestHead {
    /// The path as the client sent it, still percent-encoded.
    package let path: String
    /// The query as the client sent it, without the question mark; empty if the target has no query.
    package let query: String
    /// Returns all values of a header. The name must be in lower case. Do not use this for the header `host`, which may
    /// be missing here.
    package let header: (_ name: String) -> [String]

    init(_ head: HTTPRequest, path: String, query: String?) {
        (self.path, self.query) = (path, query ?? "")
        header = { name in HTTPField.Name(name).map { head.headerFields[values: $0] } ?? [] }
    }

    init(_ head: HTTPRequestHead) {
        let uri = URI(head.uri)
        (path, query) = (uri.path, uri.query ?? "")
        header = { head.headers[$0] }
    }
}
