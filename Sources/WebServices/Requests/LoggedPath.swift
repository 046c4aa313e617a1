import Access

/// The path of a request as the access log shows it.
///
/// A client may put a credential in the wrong place of a path, and the path of an asset contains a ticket. So the log
/// shows only words that the gateway knows, containers, and `…` for the rest.
enum LoggedPath {
    private static let roots = WebServicesPath.Service.allCases.map { "/\($0.rawValue)/" } + [WebService.assetPath]

    /// - Parameter path: Percent-encoded, as the client sent it.
    static func text(_ path: String) -> String {
        guard path != OpenAPIDocument.path else { return path }
        let known: WebServicesPath
        do throws(AccessError) { known = try WebServicesPath(path) } catch {
            return (roots.first { path.hasPrefix($0) } ?? "/") + "…"
        }
        let isKnownAction =
            known.service == .auth ? known.action == WebService.signInAction : Operation(rawValue: known.action) != nil
        return isKnownAction ? path : path.dropLast(known.action.count) + "…"
    }
}
