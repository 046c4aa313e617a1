import HTTPTypes

/// The web pages that may ask.
struct Origins: Sendable {
    /// As browsers name them; `*`: all.
    let names: [String]

    /// What an answer says of itself to browsers, in general and to the page that asks.
    // The Fetch standard, section 3.3: HTTP extensions (CORS).
    func addHeaders(to answer: inout HTTPFields, of request: HTTPFields, isPreflight: Bool = false) {
        answer[.cacheControl] = "no-store"
        guard !names.isEmpty else { return }
        answer[.vary] = "origin"
        guard let origin = request[.origin], names.contains("*") || names.contains(origin) else { return }
        answer[.accessControlAllowOrigin] = origin
        guard isPreflight else { return }
        answer[.accessControlAllowMethods] = "GET, POST"
        answer[.accessControlAllowHeaders] = "content-type"
        answer[.accessControlMaxAge] = "600"
    }
}
