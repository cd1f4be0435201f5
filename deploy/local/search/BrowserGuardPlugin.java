import java.util.Locale;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.opensearch.client.node.NodeClient;
import org.opensearch.common.util.concurrent.ThreadContext;
import org.opensearch.core.rest.RestStatus;
import org.opensearch.plugins.ActionPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.rest.BytesRestResponse;
import org.opensearch.rest.RestChannel;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestRequest;

/**
 * Refuses requests that a web page may have caused, by the rule of runtime/browser-guard.ts: browsers add Origin or
 * Sec-Fetch-Site, and after DNS rebinding the Host header names the page's host.
 */
public final class BrowserGuardPlugin extends Plugin implements ActionPlugin {
  private static final Set<String> LOCAL_NAMES = Set.of("localhost", "127.0.0.1", "[::1]");

  @Override
  public UnaryOperator<RestHandler> getRestHandlerWrapper(ThreadContext context) {
    return Guarded::new;
  }

  private static final class Guarded extends RestHandler.Wrapper {
    private final RestHandler handler;

    Guarded(RestHandler handler) {
      super(handler);
      this.handler = handler;
    }

    @Override
    public void handleRequest(RestRequest request, RestChannel channel, NodeClient client) throws Exception {
      String refusal = refusalOf(request);
      if (refusal == null) handler.handleRequest(request, channel, client);
      else channel.sendResponse(new BytesRestResponse(RestStatus.FORBIDDEN, BytesRestResponse.TEXT_CONTENT_TYPE, refusal + "\n"));
    }
  }

  private static String refusalOf(RestRequest request) {
    for (String name : new String[] {"Origin", "Sec-Fetch-Site"}) {
      if (request.header(name) != null) {
        return "Requests with the header " + name + " are refused, because web pages must not use this server";
      }
    }
    String host = request.header("Host");
    // Only HTTP/1.0 clients omit the Host header, and browsers do not use HTTP/1.0.
    if (host == null || LOCAL_NAMES.contains(host.replaceFirst(":\\d*$", "").toLowerCase(Locale.ROOT))) return null;
    return "The Host header is not a name of this server: use localhost or 127.0.0.1";
  }
}
