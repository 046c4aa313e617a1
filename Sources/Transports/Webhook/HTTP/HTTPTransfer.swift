import CCurl

/// One request in flight, and its answer so far. Only the thread of its ``HTTPTransfers`` may use it.
final class HTTPTransfer {
    /// How many bytes of an answer's body are kept. The rest of a longer body is dropped.
    static let bodyBytesMax = 4 << 10
    /// How many bytes of an answer's body are read. A longer body ends the connection, because to read the rest would
    /// cost more than to connect again.
    private static let answerBytesMax = 64 << 10

    let order: HTTPOrder
    let easy: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var isHeadComplete = false
    private var retryAfter: String?
    private var body: [UInt8] = []
    private var bytesRead = 0
    private var sockets: SocketOpener

    /// Nil if libcurl has no memory.
    init?(_ order: HTTPOrder, _ rules: HTTPRules) {
        guard let easy = curl_easy_init() else { return nil }
        self.order = order
        self.easy = easy
        sockets = SocketOpener(allowsPrivateNetworks: rules.allowsPrivateNetworks)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        setRequest()
        setFixedOptions()
        setOptions(for: rules)
        setCallbacks()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headers)
        errorText.deallocate()
    }

    /// The result after libcurl has ended the transfer with this code. A complete head counts as an answer, even if the
    /// body is incomplete.
    func result(_ code: CURLcode) -> Result<HTTPAnswer, HTTPFailure> {
        let status = curl_status(easy)
        if isHeadComplete { return .success(HTTPAnswer(status: status, retryAfter: retryAfter, body: body)) }
        if let address = sockets.refusal { return .failure(.refused(address)) }
        let wasSent = curl_bytes_sent(easy) > 0
        if code == CURLE_OPERATION_TIMEDOUT { return .failure(.timedOut(wasSent: wasSent)) }
        let reason = String(cString: errorText.pointee != 0 ? UnsafePointer(errorText) : curl_easy_strerror(code))
        return .failure(.unreachable(reason, wasSent: wasSent))
    }

    // MARK: Options

    private func setRequest() {
        let request = order.request
        curl_set_string(easy, CURLOPT_URL, request.url.absoluteString)
        request.body.withUnsafeBytes { body in
            curl_set_long(easy, CURLOPT_POSTFIELDSIZE, body.count)
            curl_set_string(easy, CURLOPT_COPYPOSTFIELDS, body.baseAddress?.assumingMemoryBound(to: CChar.self))
        }
        for (name, value) in request.headers {
            // libcurl: "name:" removes a header, "name;" sends it without a value.
            add(header: value.allSatisfy { $0 == " " } ? "\(name);" : "\(name): \(value)")
        }
        add(header: "expect:")
        curl_set_pointer(easy, CURLOPT_HTTPHEADER, headers)
        curl_set_long(easy, CURLOPT_TIMEOUT_MS, max(1, Int(request.timeout / .milliseconds(1))))
    }

    private func add(header: String) { headers = curl_slist_append(headers, header) ?? headers }

    private func setFixedOptions() {
        curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 1)
        curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 2)
        curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // libcurl's timeouts by signals would interrupt other threads.
        curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        // Lets a request end while its host name is still being looked up.
        curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    }

    private func setOptions(for rules: HTTPRules) {
        if !rules.allowsPrivateNetworks { curl_set_string(easy, CURLOPT_PROXY, "") }
        guard let trust = rules.trust else { return }
        curl_set_string(easy, CURLOPT_CAINFO, trust)
        // Otherwise libcurl would also trust the system's certificates.
        curl_set_string(easy, CURLOPT_CAPATH, nil)
    }

    private func setCallbacks() {
        // The pointer stays valid, because the transfer outlives its easy handle.
        let context = Unmanaged.passUnretained(self).toOpaque()
        curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        curl_set_pointer(easy, CURLOPT_HEADERDATA, context)
        curl_set_pointer(easy, CURLOPT_WRITEDATA, context)
        setSocketOpener(context)
        curl_set_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            let bytes = UnsafeRawBufferPointer(start: bytes, count: size * count)
            context.map(HTTPTransfer.at)?.read(header: String(decoding: bytes, as: UTF8.self))
            return bytes.count
        }
        curl_set_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let bytes = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return context.map(HTTPTransfer.at)?.read(body: bytes) == true ? bytes.count : 0
        }
    }

    private func setSocketOpener(_ context: UnsafeMutableRawPointer) {
        curl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, context)
        curl_set_socket_callback(easy, CURLOPT_OPENSOCKETFUNCTION) { context, _, address in
            guard let address, let transfer = context.map(HTTPTransfer.at) else { return CURL_SOCKET_BAD }
            return transfer.sockets.open(address)
        }
    }

    private static func at(_ context: UnsafeMutableRawPointer) -> HTTPTransfer {
        Unmanaged.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: Reading

    /// Reads one line of an answer's head. An interim answer (1xx) has a head of its own, which comes before the final
    /// answer's head.
    private func read(header line: String) {
        if line.hasPrefix("HTTP/") {
            isHeadComplete = false
            retryAfter = nil
        } else if line == "\r\n" || line == "\n" {
            isHeadComplete = curl_status(easy) >= 200
        } else if let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == "retry-after" {
            retryAfter = line[line.index(after: colon)...].filter { !$0.isNewline }
        }
    }

    /// - Returns: Whether to continue reading.
    private func read(body bytes: UnsafeRawBufferPointer) -> Bool {
        body += bytes.prefix(Self.bodyBytesMax - body.count)
        bytesRead += bytes.count
        return bytesRead <= Self.answerBytesMax
    }
}
