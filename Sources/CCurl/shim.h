#include <curl/curl.h>
#include <pthread.h>
#include <sys/eventfd.h>

// glibc declares it for _GNU_SOURCE only, which Swift's Glibc module is built without.
int pthread_setname_np(pthread_t thread, const char *name);

// Swift cannot call C functions with variable arguments.

typedef size_t (*curl_bytes_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_set_callback(CURL *easy, CURLoption option, curl_bytes_callback value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLMcode curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline long curl_status(CURL *easy) {
    long status = 0;
    return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}
